"""The networks: from a row's products with the encoder to the code, and on to the last layer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.embed.autoencoder.config import LINEAR, VARIATIONAL, AutoencoderConfig
from firth.embed.autoencoder.sparse_rows import SparseRows

if TYPE_CHECKING:  # it takes seconds to import
    from torch import Tensor

_AVERAGES = ("exp_avg", "exp_avg_sq")  # Adam's, of gradients and of their squares


@dataclass(frozen=True)
class Losses:
    """Sums over rows."""

    error: float  # squared
    divergence: float  # KL divergence of the codes from N(0, 1), in nats; 0 unless variational
    squares: float  # of the entries, which is the error of reconstructing zeros

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(
            self.error + other.error,
            self.divergence + other.divergence,
            self.squares + other.squares,
        )

    @property
    def unexplained(self) -> float:
        """Share of the squares that is not reconstructed."""
        return max(self.error / self.squares, 0.0)  # rounding can leave an error below 0


NO_LOSSES = Losses(0.0, 0.0, 0.0)


class AutoencoderNetwork:
    """Weights on one device, the codes of rows, and steps of training.

    Linear: z = x E, decoded as z E^T. Otherwise z = tanh(x E + b) F + f, decoded as
    tanh(z G + g) W^T + c; variational, log s^2 = tanh(x E + b) S + s adds the spread of z.
    """

    def __init__(
        self, config: AutoencoderConfig, n_columns: int, squares: float, device: str
    ) -> None:
        # squares: of the entries of a row, on average
        import torch

        rng = np.random.default_rng(config.seed)
        self._variational = config.network == VARIATIONAL
        self._linear = config.network == LINEAR
        # weight of the KL divergence beside squared error: entries have the variance of the matrix
        self._divergence = 2 * (config.beta or 0.0) * squares / n_columns
        sizes = _sizes(config, n_columns, squares)

        def start(shape: tuple[int, ...], deviation: float) -> Any:
            values = rng.standard_normal(shape, dtype=np.float32) * np.float32(deviation)
            return torch.from_numpy(values).to(device).requires_grad_()

        self.weights: dict[str, Tensor] = {name: start(*size) for name, size in sizes.items()}
        relative = {name: deviation or 1.0 for name, (_, deviation) in sizes.items()}
        self._relative = list(relative.values())
        groups = [{"params": [each]} for each in self.weights.values()]
        self._optimizer = torch.optim.Adam(groups, lr=config.learning_rate, fused=True)

    def backward(self, seen: SparseRows, rows: SparseRows, rng: np.random.Generator) -> Losses:
        """Set half the gradients of reconstructing rows from what is seen of them."""
        import torch

        weights = self.weights
        sums = seen.product(weights["encoder"].detach()).requires_grad_()
        codes, divergence = self._code(sums, rng)
        last = self._last(codes)
        decoder = weights["encoder" if self._linear else "decoder"]
        error, by_last, by_decoder = rows.squared_error(last.detach(), decoder.detach())
        outputs, gradients = [last], [by_last]
        if self._variational:
            outputs.append(divergence)
            gradients.append(torch.full_like(divergence, self._divergence / 2))
        for each in weights.values():
            each.grad = None
        torch.autograd.backward(outputs, gradients)
        decoder.grad = by_decoder
        by_encoder = seen.transposed_product(sums.grad)
        encoder = weights["encoder"]
        encoder.grad = by_encoder if encoder.grad is None else encoder.grad.add_(by_encoder)
        return Losses(error, float(divergence.detach()), rows.squares)

    def step(self, rate: float) -> None:
        """Take a step of Adam with these gradients, relative to the first size of each weight."""
        for group, relative in zip(self._optimizer.param_groups, self._relative, strict=True):
            group["lr"] = rate * relative
        self._optimizer.step()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights and Adam's averages, which are copies on a GPU only."""
        found = {}
        for name, weight in self.weights.items():
            found[name] = weight.detach()
            for key in _AVERAGES:
                if weight in self._optimizer.state:  # not before the first step
                    found[f"{name}-{key}"] = self._optimizer.state[weight][key]
        return {name: tensor.cpu().numpy() for name, tensor in found.items()}

    def load(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Load what :meth:`arrays` returned after some steps."""
        import torch

        for name, weight in self.weights.items():
            with torch.no_grad():
                weight.copy_(torch.tensor(arrays[name]))
            if step:
                averages = {key: torch.tensor(arrays[f"{name}-{key}"]) for key in _AVERAGES}
                state = {"step": torch.tensor(float(step)), **averages}
                self._optimizer.state[weight] = {
                    key: tensor.to(weight.device) for key, tensor in state.items()
                }

    def encode(self, rows: SparseRows) -> tuple[np.ndarray, Losses]:
        """Return the codes of rows, the mean ones if variational, and how well they decode."""
        # returns float32 (B, D)
        import torch

        with torch.no_grad():
            sums = rows.product(self.weights["encoder"])
            codes, divergence = self._code(sums, None)
            decoder = self.weights["encoder" if self._linear else "decoder"]
            error, _, _ = rows.squared_error(self._last(codes), decoder)
        return codes.cpu().numpy(), Losses(error, float(divergence), rows.squares)

    def _code(self, sums: Any, rng: Any) -> tuple[Any, Any]:
        """Return codes, drawn from their distribution with ``rng``, and the summed divergence."""
        import torch

        if self._linear:
            return sums, sums.new_zeros(())
        weights = self.weights
        hidden = torch.tanh(sums + weights["encoder_bias"])
        codes = hidden @ weights["code"] + weights["code_bias"]
        if not self._variational:
            return codes, sums.new_zeros(())
        spread = hidden @ weights["spread"] + weights["spread_bias"]
        divergence = (spread.exp() + codes.square() - 1 - spread).sum() / 2  # from N(0, 1), nats
        if rng is not None:
            noise = torch.from_numpy(rng.standard_normal(codes.shape, dtype=np.float32))
            codes = codes + (spread / 2).exp() * noise.to(codes.device)
        return codes, divergence

    def _last(self, codes: Any) -> Any:
        """Return the layer that the decoder's matrix multiplies, its last column 1 for the bias."""
        import torch

        if self._linear:
            return codes
        weights = self.weights
        hidden = torch.tanh(codes @ weights["decode"] + weights["decode_bias"])
        return torch.cat([hidden, hidden.new_ones(len(hidden), 1)], 1)


def checkpoint_bytes(config: AutoencoderConfig, n_columns: int) -> int:
    """Return the size of a checkpoint."""
    n_weights = sum(math.prod(shape) for shape, _ in _sizes(config, n_columns, 1.0).values())
    return 4 * n_weights * (1 + len(_AVERAGES))


def _sizes(
    config: AutoencoderConfig, n_columns: int, squares: float
) -> dict[str, tuple[tuple[int, ...], float]]:
    """Return the shape and first standard deviation of each weight: sums have variance 1."""
    dim, hidden = config.dim, config.hidden
    if config.network == LINEAR:
        return {"encoder": ((n_columns, dim), n_columns**-0.5)}
    assert hidden is not None
    sizes: dict[str, tuple[tuple[int, ...], float]] = {
        "encoder": ((n_columns, hidden), squares**-0.5),
        "encoder_bias": ((hidden,), 0.0),
        "code": ((hidden, dim), hidden**-0.5),
        "code_bias": ((dim,), 0.0),
        "spread": ((hidden, dim), hidden**-0.5),
        "spread_bias": ((dim,), 0.0),
        "decode": ((dim, hidden), dim**-0.5),
        "decode_bias": ((hidden,), 0.0),
        "decoder": ((n_columns, hidden + 1), (squares / n_columns / hidden) ** 0.5),
    }
    if config.network != VARIATIONAL:
        del sizes["spread"], sizes["spread_bias"]
    return sizes
