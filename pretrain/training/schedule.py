"""How long a training goes on, and the learning rate on its way."""

import math
from dataclasses import dataclass

from pretrain.config import MlmConfig

_LAST_FIFTH = 0.2  # of what follows the warm-up: where wsd falls


@dataclass(frozen=True)
class Budget:
    """What a training may spend: so many steps, or so many seconds."""

    steps: int | None = None  # updates of the weights
    # time of training, over all calls; evaluations count, compiling does not
    seconds: float | None = None

    def progress(self, step: int, seconds: float) -> float:
        """Tell how much is spent."""
        if self.steps is not None:
            return step / self.steps
        assert self.seconds is not None
        return seconds / self.seconds

    def middle(self, step: int, seconds: float) -> float:
        """Tell where in the budget the next step lies, for its learning rate.

        Its middle, so that neither the first nor the last step has rate 0.
        """
        if self.steps is not None:
            return (step + 0.5) / self.steps
        half = 0.5 * seconds / step if step else 0.0
        return min(1.0, self.progress(step, seconds + half))


def make_budget(config: MlmConfig, n_rows: int, batch_rows: int) -> Budget:
    """Turn the options into steps or seconds."""
    if config.minutes is not None:
        return Budget(seconds=config.minutes * 60)
    if config.steps is not None:
        return Budget(steps=config.steps)
    if config.tokens is not None:
        return Budget(steps=math.ceil(config.tokens / (batch_rows * config.sequence_length)))
    assert config.epochs is not None
    return Budget(steps=max(1, math.ceil(config.epochs * n_rows / batch_rows)))


def rate_factor(schedule: str, warmup: float, progress: float) -> float:
    """Give the learning rate as a share of the highest."""
    if progress < warmup:
        return progress / warmup
    left = (1.0 - progress) / (1.0 - warmup)
    if schedule == "cosine":
        return (1.0 - math.cos(math.pi * left)) / 2.0
    return left if schedule == "linear" else min(1.0, left / _LAST_FIFTH)
