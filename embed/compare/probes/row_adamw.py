"""AdamW (Loshchilov and Hutter 2019) on the rows of a table of which each step uses few.

A row without a gradient still moves: its momentum fades and its weights decay. These steps have a
closed form, which is applied when the row is next used, so that a step costs what it uses.
"""

from typing import Any

import numpy as np

_MOMENTUM, _SQUARES, _EPSILON = 0.9, 0.999, 1e-8  # the defaults of torch


class RowAdamW:
    """Steps the rows that have a gradient, with the results of AdamW on the whole table.

    Rounding aside, the results differ only where a gradient is so small that ``_EPSILON`` counts:
    while a momentum fades, its share of the denominator stays that of the row's last step.
    """

    def __init__(self, weights: Any, rate: float, decay: float, n_steps: int) -> None:
        # weights: torch.float32 (R, H), changed by settle
        import torch

        self._weights, self._rate, self._kept = weights, rate, 1 - rate * decay
        # (R, 3, H): weights, momentum and mean squares
        self._state = torch.stack([weights, *torch.zeros((2, *weights.shape))], dim=1)
        self._used = self._state[:0]  # the state of the rows that are in use
        self._step = 0
        self._last = np.zeros(len(weights), np.int64)  # the step up to which a row has moved
        steps = np.arange(n_steps + 1)
        self._roots = np.sqrt(1 - _SQUARES ** np.maximum(steps, 1))
        fading = _MOMENTUM / _SQUARES**0.5 / self._kept  # of a direction, each step
        self._paths = _paths(self._roots / (1 - _MOMENTUM ** np.maximum(steps, 1)), fading)
        factors = np.array([[fading], [self._kept], [_MOMENTUM], [_SQUARES]])
        self._powers = factors**steps  # float64 (4, T + 1)

    def rows(self, rows: np.ndarray) -> Any:
        """Return the current weights of some rows, torch.float32 (n, H)."""
        # rows: int64 (n,), distinct
        import torch

        last = self._last[rows]
        fading, kept, momentum_kept, squares_kept = self._powers[:, self._step - last]
        path = self._paths[last] - fading * self._paths[self._step]
        self._used = self._state.index_select(0, torch.from_numpy(rows))
        weights, momentum, squares = self._used.unbind(dim=1)
        roots = squares.sqrt().add_(_column(_EPSILON * self._roots[last]))
        weights.sub_((momentum / roots).mul_(_column(self._rate * path))).mul_(_column(kept))
        momentum.mul_(_column(momentum_kept))
        squares.mul_(_column(squares_kept))
        return weights.clone()

    def step(self, rows: np.ndarray, gradient: Any) -> None:
        """Take one step, with the gradient of the rows that :meth:`rows` has just returned."""
        # rows: int64 (n,), distinct; gradient: torch.float32 (n, H)
        self._step += 1
        weights, momentum, squares = self._used.unbind(dim=1)
        momentum.lerp_(gradient, 1 - _MOMENTUM)
        squares.mul_(_SQUARES).addcmul_(gradient, gradient, value=1 - _SQUARES)
        roots = squares.sqrt().div_(self._roots[self._step]).add_(_EPSILON)
        rate = self._rate / (1 - _MOMENTUM**self._step)
        weights.mul_(self._kept).addcdiv_(momentum, roots, value=-rate)
        self._store(rows)

    def settle(self) -> None:
        """Write the current weights of all rows."""
        every = np.arange(len(self._weights))
        self._weights.copy_(self.rows(every))
        self._store(every)

    def _store(self, rows: np.ndarray) -> None:
        """Store the state of the rows in use, which have moved up to the current step."""
        import torch

        self._state.index_copy_(0, torch.from_numpy(rows), self._used)
        self._last[rows] = self._step


def _paths(corrections: np.ndarray, fading: float) -> np.ndarray:
    """Return how far a direction of step t moves a weight in all later steps.

    In units of the rate, and before the decay of these steps: the sum of ``corrections[t + k]``
    times ``fading ** k`` over k from 1; the last correction stands for all later ones.
    """
    # corrections: float64 (T + 1,), the bias corrections of each step; returns float64 (T + 1,)
    paths = np.empty_like(corrections)
    paths[-1] = corrections[-1] * fading / (1 - fading)
    for step in range(len(paths) - 2, -1, -1):
        paths[step] = fading * (corrections[step + 1] + paths[step + 1])
    return paths


def _column(values: np.ndarray) -> Any:
    """Return float64 (n,) as torch.float32 (n, 1)."""
    import torch

    return torch.from_numpy(values.astype(np.float32))[:, None]
