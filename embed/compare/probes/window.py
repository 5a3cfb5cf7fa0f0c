"""Window probe: a network of one hidden layer over the vectors of a word and its neighbors.

The window approach of Collobert et al. (2011), section 3.3.1, on frozen vectors.
"""

import copy
import math
from typing import Any

import numpy as np

from firth.embed.compare.probes.examples import Examples, TrainedProbe
from firth.embed.compare.probes.progress import steps

WINDOW_DECAYS = (0.01, 1.0)  # decoupled weight decay
_HIDDEN = 64
_LEARNING_RATE = 2e-3
_BATCH, _MIN_BATCH = 1024, 32
_STEPS = 128  # aimed at per epoch; training ends after as many without gain
_MAX_STEPS, _MAX_EPOCHS = 4096, 8  # whichever is more, so that few words train long enough
_GAIN = 1e-4  # smallest gain in mean log-likelihood that counts; else training might never end
_ROWS = 1 << 14  # predicted at a time


def train_window(
    table: Any, train: Examples, dev: Examples, n_labels: int, seed: int
) -> TrainedProbe:
    """Train a network with one hidden layer over the vectors of a word and its neighbors.

    64 rectified units, softmax, AdamW. Training ends when 128 steps lower the loss on ``dev`` by
    less than 0.0001; by accuracy it would end while every word still gets the most frequent label.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D), standardized
    tried = (_train(table, train, dev, n_labels, decay, seed) for decay in steps(WINDOW_DECAYS))
    return max(tried, key=lambda probe: probe.accuracy)


def _train(
    table: Any,
    train: Examples,
    dev: Examples,
    n_labels: int,
    decay: float,
    seed: int,
) -> TrainedProbe:
    """Train with one decay; return the network of the best epoch."""
    import torch

    width, n_words = train.rows.shape[1], len(train.labels)
    dense = isinstance(table, np.ndarray)
    network = (_Network if dense else _SparseNetwork)(table, width, n_labels, seed)
    batch = min(_BATCH, max(_MIN_BATCH, n_words // _STEPS))
    patience = math.ceil(_STEPS * batch / n_words)
    n_epochs = max(_MAX_EPOCHS, math.ceil(_MAX_STEPS * batch / n_words))
    optimizer = torch.optim.AdamW(
        [network.weights],
        lr=_LEARNING_RATE,
        weight_decay=decay,
        foreach=False,
        fused=not dense,  # three times as fast for the wide layer of sparse vectors
    )
    best_loss, kept, best_epoch = math.inf, network, 0
    for epoch in steps(range(1, n_epochs + 1)):
        order = np.random.default_rng([seed, epoch]).permutation(n_words)
        for start in range(0, n_words, batch):
            some = order[start : start + batch]
            network.set_gradients(train.rows[some], train.labels[some])
            optimizer.step()
        loss_on_dev = network.mean_loss(dev)
        if epoch == 1 or loss_on_dev < best_loss - _GAIN:
            best_loss, kept, best_epoch = loss_on_dev, network.copy(), epoch
        elif epoch - best_epoch >= patience:
            break
    accuracy = float((kept.score(dev.rows).argmax(axis=1) == dev.labels).mean())
    return TrainedProbe(kept.score, accuracy, decay, best_epoch)


class _Network:
    """Concatenated vectors, a hidden layer, softmax."""

    def __init__(self, table: Any, width: int, n_labels: int, seed: int) -> None:
        import torch

        self._table, dense = table, isinstance(table, np.ndarray)
        generator = torch.Generator().manual_seed(seed % 2**63)
        dim = table.shape[1]
        # He et al. 2015, with the mean squared length of standardized vectors
        inputs = width * (dim if dense else 1)
        layers = torch.randn((width, dim, _HIDDEN), generator=generator).mul_((2 / inputs) ** 0.5)
        rest = torch.zeros(_HIDDEN + _HIDDEN * n_labels + n_labels)
        first = [(dim, _HIDDEN)] * width if dense else [(width * dim, _HIDDEN)]
        self._shapes = [*first, (_HIDDEN,), (_HIDDEN, n_labels), (n_labels,)]
        self._set_weights(torch.cat([layers.flatten(), rest]))

    def _set_weights(self, weights: Any) -> None:
        """Use views of one tensor as weights, so that the optimizer steps a single tensor."""
        self.weights, self.gradient = weights, weights.new_zeros(weights.shape)
        self.weights.grad = self.gradient
        sizes = [math.prod(shape) for shape in self._shapes]
        parts = []
        for shape, part, gradient in zip(
            self._shapes, weights.split(sizes), self.gradient.split(sizes), strict=True
        ):
            parts.append(part.view(shape).detach().requires_grad_())
            parts[-1].grad = gradient.view(shape)
        *self._layers, self._bias, self._out, self._out_bias = parts

    def logits(self, rows: np.ndarray) -> Any:
        """Return the label scores before the softmax, float32 (n, C)."""
        return self._hidden(rows).relu() @ self._out + self._out_bias

    def _hidden(self, rows: np.ndarray) -> Any:
        """Return the hidden units before the rectifier."""
        import torch

        table, hidden = torch.from_numpy(self._table), self._bias
        for place, layer in enumerate(self._layers):
            hidden = hidden + table[torch.from_numpy(rows[:, place])] @ layer
        return hidden

    def set_gradients(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Set the gradient of the mean negative log-likelihood."""
        import torch

        scores = self.logits(rows)
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels))
        self.gradient.zero_()
        loss.backward()

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return the label scores of each word, float32 (n, C), some rows at a time."""
        import torch

        with torch.no_grad():
            starts = range(0, len(rows) or 1, _ROWS)
            return np.concatenate([self.logits(rows[n : n + _ROWS]).numpy() for n in starts])

    def mean_loss(self, examples: Examples) -> float:
        """Return the mean negative log-likelihood of known labels; infinite if there are none."""
        import torch

        known, total = np.flatnonzero(examples.labels >= 0), 0.0
        with torch.no_grad():
            for start in range(0, len(known), _ROWS):
                some = known[start : start + _ROWS]
                labels = torch.from_numpy(examples.labels[some])
                logits = self.logits(examples.rows[some])
                total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        return total / len(known) if len(known) else math.inf

    def copy(self) -> "_Network":
        """Return a copy with its own weights; the table is shared."""
        other = copy.copy(self)
        other._set_weights(self.weights.clone())
        return other


class _SparseNetwork(_Network):
    """The same for sparse vectors, whose first layer has the weights of all places in one."""

    def _hidden(self, rows: np.ndarray) -> Any:
        columns, entries = self._entries(rows)
        return self._bias + _bag(columns, self._layers[0], *entries)

    def _entries(self, rows: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return the columns of the concatenated vectors, their values, and each word's first."""
        some, width = self._table[rows.ravel()], rows.shape[1]
        firsts = np.tile(np.arange(width) * some.shape[1], len(rows))
        columns = some.indices + np.repeat(firsts, np.diff(some.indptr))
        return columns, (some.data, some.indptr[:-1:width].astype(np.int64))


def _bag(columns: np.ndarray, layer: Any, values: np.ndarray, starts: np.ndarray) -> Any:
    """Multiply sparse vectors, given by their columns and values, with a layer."""
    import torch

    return torch.nn.functional.embedding_bag(
        torch.from_numpy(columns),
        layer,
        torch.from_numpy(starts),
        mode="sum",
        per_sample_weights=torch.from_numpy(values),
    )
