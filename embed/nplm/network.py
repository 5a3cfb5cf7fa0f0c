"""The network: its forward pass, its gradients written out, and Adagrad on the rows in use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # it takes seconds to import
    from torch import Tensor

_SQUARES = "_squares"  # sums of squared gradients in a checkpoint, of the weights of this name
_TINY = 1e-10  # added to Adagrad's divisor
_LEAST = 1e-37  # probability


class NextWordNetwork:
    """Weights and Adagrad's sums of squares, on one device.

    With w the words before, C(w) their vectors side by side:
    h = tanh(C(w) W + d), P(next = v) = softmax(h U^T + b)_v.
    """

    def __init__(
        self, n_words: int, dim: int, window: int, hidden: int, seed: int, device: str
    ) -> None:
        import torch

        rng = np.random.default_rng(seed)
        inputs = window * dim

        def normal(rows: int, columns: int, deviation: float) -> Any:
            values = rng.standard_normal((rows, columns), dtype=np.float32)
            return torch.from_numpy(values * np.float32(deviation)).to(device)

        self.n_words, self.device = n_words, device
        self.weights: dict[str, Tensor] = {
            "words": normal(n_words + 1, dim, 0.1),  # C; the last row precedes a unit of text
            "hidden": normal(inputs, hidden, inputs**-0.5),  # W
            "hidden_bias": torch.zeros(hidden, device=device),  # d
            "outputs": normal(n_words, hidden, 0.01),  # U
            "output_bias": torch.zeros(n_words, device=device),  # b
        }
        self._squares = {name: torch.zeros_like(each) for name, each in self.weights.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that a checkpoint needs, on the host."""
        squares = {name + _SQUARES: each for name, each in self._squares.items()}
        return {name: each.cpu().numpy() for name, each in {**self.weights, **squares}.items()}

    def load(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Restore :meth:`arrays`."""
        for name, weights in self.weights.items():
            weights.copy_(self._tensor(arrays[name]))
            self._squares[name].copy_(self._tensor(arrays[name + _SQUARES]))

    def start_from_counts(self, counts: np.ndarray) -> None:
        """Set the biases of the outputs to the log probabilities of the words."""
        shares = np.maximum(counts, 1) / max(1, counts.sum())
        self.weights["output_bias"].copy_(self._tensor(np.log(shares).astype(np.float32)))

    def losses(self, contexts: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood of each target over the whole vocabulary."""
        # contexts: int64 (B, n); targets: int64 (B,); returns float64 (B,)
        places = self._tensor(targets)
        _, hidden = self._hidden(self._tensor(contexts))
        scores = hidden @ self.weights["outputs"].T + self.weights["output_bias"]
        chosen = scores.gather(1, places[:, None])[:, 0]
        return np.asarray((scores.logsumexp(1) - chosen).cpu().double().numpy())

    def learn(
        self,
        contexts: np.ndarray,
        targets: np.ndarray,
        rate: float,
        drawn: tuple[np.ndarray, np.ndarray] | None,
    ) -> float:
        """Take one step on the mean loss; return the summed loss.

        With ``drawn``, words and their log weights, the softmax is restricted to the target and
        these words (Bengio and Senécal 2003).
        """
        ids, places = self._tensor(contexts), self._tensor(targets)
        inputs, hidden = self._hidden(ids)
        output = self._full(hidden, places) if drawn is None else self._sampled(
            hidden, places, self._tensor(drawn[0]), self._tensor(drawn[1])
        )  # fmt: skip
        losses, by_hidden, rows, by_output, by_bias = output
        before = by_hidden * (1 - hidden * hidden)  # of the sums that enter tanh
        by_input = (before @ self.weights["hidden"].T).reshape(ids.numel(), -1)
        self._update("outputs", rate, by_output, rows)
        self._update("output_bias", rate, by_bias, rows)
        self._update("hidden", rate, inputs.T @ before)
        self._update("hidden_bias", rate, before.sum(0))
        words, by_word = _sum_by_row(ids.flatten(), by_input)
        self._update("words", rate, by_word, words)
        return float(losses.cpu().double().sum())

    def _tensor(self, array: np.ndarray) -> Any:
        """Copy an array to the device."""
        import torch

        return torch.from_numpy(np.array(array)).to(self.device)

    def _hidden(self, ids: Any) -> tuple[Any, Any]:
        """Return the vectors of the words before, side by side, and the hidden layer."""
        # ids: int64 (B, n); returns float32 (B, n D) and (B, H)
        inputs = self.weights["words"][ids.flatten()].reshape(len(ids), -1)
        hidden = self.weights["hidden_bias"].addmm(inputs, self.weights["hidden"])
        return inputs, hidden.tanh_()

    def _full(self, hidden: Any, targets: Any) -> tuple[Any, Any, None, Any, Any]:
        """Return losses and gradients of the softmax over all words."""
        import torch

        outputs, bias = self.weights["outputs"], self.weights["output_bias"]
        shares = torch.softmax(bias.addmm(hidden, outputs.T), 1)
        right = shares.gather(1, targets[:, None])
        shares.scatter_add_(1, targets[:, None], torch.full_like(right, -1.0))
        shares /= len(hidden)
        losses = -right[:, 0].clamp(min=_LEAST).log()
        return losses, shares @ outputs, None, shares.T @ hidden, shares.sum(0)

    def _sampled(
        self, hidden: Any, targets: Any, drawn: Any, log_weights: Any
    ) -> tuple[Any, Any, Any, Any, Any]:
        """Return losses and gradients of the softmax over the target and the words drawn."""
        # drawn: int64 (K,), ascending; log_weights: float32 (K,)
        import torch

        outputs, bias = self.weights["outputs"], self.weights["output_bias"]
        of_targets, of_drawn = outputs[targets], outputs[drawn]
        scores = hidden.new_empty((len(hidden), 1 + len(drawn)))
        scores[:, 0] = (hidden * of_targets).sum(1) + bias[targets]
        torch.addmm(bias[drawn] + log_weights, hidden, of_drawn.T, out=scores[:, 1:])
        nearest = torch.searchsorted(drawn, targets).clamp(max=len(drawn) - 1)
        hits = (drawn[nearest] == targets).nonzero()[:, 0]
        scores[hits, 1 + nearest[hits]] = -torch.inf  # the target counts once
        shares = torch.softmax(scores, 1)
        losses = -shares[:, 0].clamp(min=_LEAST).log()
        shares[:, 0] -= 1
        shares /= len(hidden)
        of_target, of_others = shares[:, :1], shares[:, 1:]
        by_hidden = (of_target * of_targets).addmm_(of_others, of_drawn)
        rows, by_output = _sum_by_row(
            torch.cat([targets, drawn]), torch.cat([of_target * hidden, of_others.T @ hidden])
        )
        _, by_bias = _sum_by_row(
            torch.cat([targets, drawn]), torch.cat([of_target[:, 0], of_others.sum(0)])
        )
        return losses, by_hidden, rows, by_output, by_bias

    def _update(self, name: str, rate: float, gradient: Any, rows: Any = None) -> None:
        """Take a step of Adagrad (Duchi, Hazan and Singer 2011) on some rows, or on all."""
        weights, squares = self.weights[name], self._squares[name]
        if rows is None:
            squares.addcmul_(gradient, gradient)
            weights.addcdiv_(gradient, squares.sqrt().add_(_TINY), value=-rate)
            return
        of_rows = squares[rows].addcmul_(gradient, gradient)
        squares[rows] = of_rows
        weights.index_add_(0, rows, gradient.div_(of_rows.sqrt_().add_(_TINY)), alpha=-rate)


def _sum_by_row(ids: Any, values: Any) -> tuple[Any, Any]:
    """Return the distinct ids, ascending, and the sum of the values of each."""
    # ids: int64 (n,); values: float32 (n, ...)
    rows, places = ids.unique(return_inverse=True)
    return rows, values.new_zeros((len(rows), *values.shape[1:])).index_add_(0, places, values)
