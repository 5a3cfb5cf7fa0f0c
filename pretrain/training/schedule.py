"""Training budgets, and the schedules of learning and mask rates."""

import math
from dataclasses import dataclass

from firth.pretrain.config import MlmConfig

_WARMUP = 0.02  # share of the budget in which the learning rate rises


@dataclass(frozen=True)
class Budget:
    """The length of a training: a number of steps, or a time."""

    steps: int | None = None
    seconds: float | None = None  # over all calls; evaluations count, compiling does not

    def progress(self, step: int, seconds: float) -> float:
        """Return the share of the budget that is spent; at 1 the training ends."""
        if self.steps is not None:
            return step / self.steps
        assert self.seconds is not None
        return seconds / self.seconds

    def interval(self, share: float) -> tuple[float | None, float | None]:
        """Return the steps or the seconds of a share of the budget; the other one is None."""
        if self.steps is not None:
            return max(1.0, self.steps * share), None
        assert self.seconds is not None
        return None, self.seconds * share

    def midpoint(self, step: int, seconds: float) -> float:
        """Return the progress at which the next step gets its rate: of steps the middle."""
        return self.progress(step, seconds) if self.steps is None else (step + 0.5) / self.steps


def make_budget(config: MlmConfig, n_rows: int, batch_rows: int) -> Budget:
    """Turn the budget options of a resolved config into steps or seconds."""
    if config.minutes is not None:
        return Budget(seconds=config.minutes * 60)
    if config.steps is not None:
        return Budget(steps=config.steps)
    assert config.epochs is not None
    return Budget(steps=max(1, math.ceil(config.epochs * n_rows / batch_rows)))


def rate_factor(progress: float) -> float:
    """Return the learning rate at a share of the budget, as a share of the highest.

    It rises linearly over the first 2 %, then falls linearly to 0.

    >>> [rate_factor(progress) for progress in (0.01, 0.02, 0.51, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    return progress / _WARMUP if progress < _WARMUP else (1.0 - progress) / (1.0 - _WARMUP)


def mask_rate(config: MlmConfig, progress: float) -> float:
    """Return the share of pieces to mask at a share of the budget; NaN if none are."""
    first, last = config.mask_rates
    return min(max(first, last), first + (last - first) * progress)
