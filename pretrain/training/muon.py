"""Muon: steps along the orthogonalized momentum of a matrix (Jordan et al. 2024).

With its columns and rows balanced (Zhang et al. 2026, arXiv:2602.21545).
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.linalg import vector_norm

# Of the polynomial that moves all singular values towards 1, a few steps of which leave them
# between .7 and 1.2: Jordan et al.'s, "Muon: an optimizer for hidden layers in neural networks".
_COEFFICIENTS = 3.4445, -4.7750, 2.0315
_STEPS = 5
_MOMENTUM = 0.9
_EPSILON = 1e-7
_SHORT = 1e-4  # rows and columns below it, of units that hardly learn, keep a shorter step


class Muon(torch.optim.Optimizer):
    """Muon for matrices, some of which are several in one.

    ``torch.optim.Muon`` with its other defaults, except that the parts of a fused matrix (queries,
    keys and values; value and gate) are orthogonalized each by itself, parts of one shape together,
    in ``dtype``, and then :func:`balanced`.
    """

    def __init__(
        self,
        weights: Iterable[tuple[Tensor, int]],  # with the number of parts along the rows
        *,
        weight_decay: float,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        by_parts: dict[int, list[Tensor]] = {}
        for weight, n_parts in weights:
            by_parts.setdefault(n_parts, []).append(weight)
        groups = [{"params": some, "n_parts": n} for n, some in by_parts.items()]
        super().__init__(groups, {"lr": 0.0, "weight_decay": weight_decay})
        self._dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update all weights."""
        pairs: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
        for group in self.param_groups:
            for weight in group["params"]:
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                direction = self._direction(weight)
                parts = (each.chunk(group["n_parts"]) for each in (weight, direction))
                for part, along in zip(*parts, strict=True):
                    pairs.setdefault(part.shape, []).append((part, along))
        for (rows, columns), some in pairs.items():
            momenta = torch.stack([along for _, along in some]).to(self._dtype)
            stacked = balanced(orthogonalized(momenta).float())
            rate = self.param_groups[0]["lr"] * max(1.0, rows / columns) ** 0.5
            for (part, _), along in zip(some, stacked, strict=True):
                part.add_(along, alpha=-rate)

    def _direction(self, weight: Tensor) -> Tensor:
        """Advance the momentum of a weight; return Nesterov's mean of it and the gradient."""
        assert weight.grad is not None
        state = self.state[weight]
        if "exp_avg" not in state:
            state["exp_avg"] = torch.zeros_like(weight)
        mean = state["exp_avg"].lerp_(weight.grad, 1 - _MOMENTUM)
        return weight.grad.lerp(mean, _MOMENTUM)


def orthogonalized(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors, and all singular values near 1."""
    # matrices: (n, rows, columns)
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / vector_norm(x.flatten(1), dim=1).clamp(min=_EPSILON)[:, None, None]
    a, b, c = _COEFFICIENTS
    for _ in range(_STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def balanced(matrices: Tensor) -> Tensor:
    """Return matrices with equal columns first, then with equal rows, scaled to the same norm.

    Rows and columns of nearly orthogonal matrices differ in length, so some units would take longer
    steps than others. The norm stays, unlike in the paper, so that rates keep their meaning.
    """
    # matrices: float32 (n, rows, columns); returns the same
    norms = vector_norm(matrices, dim=(1, 2), keepdim=True)
    for axis in (1, 2):
        matrices = matrices / vector_norm(matrices, dim=axis, keepdim=True).clamp(min=_SHORT)
    return matrices * (norms / vector_norm(matrices, dim=(1, 2), keepdim=True).clamp(min=_EPSILON))
