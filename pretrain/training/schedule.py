"""Training budgets and learning-rate schedules."""

import math
from dataclasses import dataclass

from firth.pretrain.config import MlmConfig

_LAST_FIFTH = 0.2  # share of the time after warm-up in which wsd falls


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
        """Return the progress at which the next step gets its learning rate.

        Of steps the middle, so that neither the first nor the last one has rate 0.
        """
        return self.progress(step, seconds) if self.steps is None else (step + 0.5) / self.steps


def make_budget(config: MlmConfig, n_rows: int, batch_rows: int) -> Budget:
    """Turn the budget options of a resolved config into steps or seconds."""
    if config.minutes is not None:
        return Budget(seconds=config.minutes * 60)
    if config.steps is not None:
        return Budget(steps=config.steps)
    if config.tokens is not None:
        return Budget(steps=math.ceil(config.tokens / (batch_rows * config.sequence_length)))
    assert config.epochs is not None
    return Budget(steps=max(1, math.ceil(config.epochs * n_rows / batch_rows)))


def rate_factor(schedule: str, warmup: float, progress: float) -> float:
    """Return the learning rate at a share of the budget, as a share of the highest.

    After a linear warm-up, ``linear`` falls to 0; ``cosine`` falls as (1 + cos(pi x)) / 2
    (Loshchilov and Hutter 2017, arXiv:1608.03983, equation 5); ``wsd`` stays, then falls linearly
    over the last fifth (Hu et al. 2024, arXiv:2404.06395).

    >>> [rate_factor("linear", 0.2, progress) for progress in (0.1, 0.2, 0.6, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return progress / warmup
    remaining = (1.0 - progress) / (1.0 - warmup)
    if schedule == "cosine":
        return (1.0 - math.cos(math.pi * remaining)) / 2.0
    return remaining if schedule == "linear" else min(1.0, remaining / _LAST_FIFTH)
