"""How long a training goes on, and the learning rate on its way."""

import math
from dataclasses import dataclass

from pretrain.config import MlmConfig

_LAST_FIFTH = 0.2  # of what follows the warm-up: where wsd falls


@dataclass(frozen=True)
class Budget:
    """What a training may spend: so many steps, or so many seconds.

    Parameters
    ----------
    steps : int, optional
        Updates of the weights.
    seconds : float, optional
        Time of training, over all calls; evaluations count, compiling does not.
    """

    steps: int | None = None
    seconds: float | None = None

    def progress(self, step: int, seconds: float) -> float:
        """Tell how much is spent.

        Parameters
        ----------
        step : int
            Steps that are done.
        seconds : float
            Seconds trained.

        Returns
        -------
        float
            From 0; at 1 the training ends.
        """
        if self.steps is not None:
            return step / self.steps
        assert self.seconds is not None
        return seconds / self.seconds

    def middle(self, step: int, seconds: float) -> float:
        """Tell where in the budget the next step lies, for its learning rate.

        Its middle, so that neither the first nor the last step has rate 0.

        Parameters
        ----------
        step : int
            Steps that are done.
        seconds : float
            Seconds trained.

        Returns
        -------
        float
            In [0, 1].
        """
        if self.steps is not None:
            return (step + 0.5) / self.steps
        half = 0.5 * seconds / step if step else 0.0
        return min(1.0, self.progress(step, seconds + half))


def make_budget(config: MlmConfig, n_rows: int, batch_rows: int) -> Budget:
    """Turn the options into steps or seconds.

    Parameters
    ----------
    config : MlmConfig
        Settled, so that it has a budget.
    n_rows : int
        Rows of the training text.
    batch_rows : int
        Rows of a step.

    Returns
    -------
    Budget
        Of at least one step.
    """
    if config.minutes is not None:
        return Budget(seconds=config.minutes * 60)
    if config.steps is not None:
        return Budget(steps=config.steps)
    if config.tokens is not None:
        return Budget(steps=math.ceil(config.tokens / (batch_rows * config.sequence_length)))
    assert config.epochs is not None
    return Budget(steps=max(1, math.ceil(config.epochs * n_rows / batch_rows)))


def rate_factor(schedule: str, warmup: float, progress: float) -> float:
    """Give the learning rate as a share of the highest.

    Parameters
    ----------
    schedule : str
        After the warm-up: ``linear`` falls to 0; ``cosine`` as (1 + cos(pi x)) / 2
        (Loshchilov and Hutter 2017, arXiv:1608.03983, equation 5); ``wsd`` stays, and
        falls linearly over the last fifth (Hu et al. 2024, arXiv:2404.06395).
    warmup : float
        Share of the budget over which the rate rises linearly from 0; in [0, 1).
    progress : float
        Share of the budget that is spent, in [0, 1].

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> [rate_factor("linear", 0.2, progress) for progress in (0.1, 0.2, 0.6, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return progress / warmup
    left = (1.0 - progress) / (1.0 - warmup)
    if schedule == "cosine":
        return (1.0 - math.cos(math.pi * left)) / 2.0
    return left if schedule == "linear" else min(1.0, left / _LAST_FIFTH)
