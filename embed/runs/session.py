"""A training in progress: its position, checkpoints, metrics and progress; it resumes exactly."""

import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from firth.corpora.artifacts.checkpoint import (
    CHECKPOINTS,
    clear_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from firth.corpora.artifacts.metrics import METRICS, Metrics
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.corpora.common.reporting import no_progress, progress

_ROUNDING = 1e-9  # of a number of intervals: 3 steps of 60 are 5 %, whatever the last bit
_LINES, _SUBJECT = "lines", "text"  # of the metrics, and what was trained on; in a checkpoint


@dataclass(frozen=True)
class Position:
    """Where a training stands, as its checkpoints have it."""

    step: int = 0  # steps taken


PositionT = TypeVar("PositionT", bound=Position)
BatchT = TypeVar("BatchT")


class Trained(Protocol):
    """The numbers that a training changes."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return everything that a checkpoint needs."""

    def load(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Restore what :meth:`arrays` returned after some steps."""


class Interval:
    """An interval in steps, perhaps with a fraction, or in seconds."""

    def __init__(self, steps: float | None = None, seconds: float | None = None) -> None:
        self._steps, self._seconds = steps, seconds
        self.restart()

    def is_due(self, step: int) -> bool:
        """Return whether the interval has passed."""
        if self._seconds is None:
            return self.is_step(step)
        return time.monotonic() - self._since >= self._seconds

    def is_step(self, step: int) -> bool:
        """Return whether it ends at a step after 0; False for an interval in time."""
        if self._steps is None:
            return False
        ended, before = (int(n / self._steps + _ROUNDING) for n in (step, max(step - 1, 0)))
        return ended > before

    def restart(self) -> None:
        """Measure seconds from now."""
        self._since = time.monotonic()

    def advance(self) -> None:
        """Measure seconds from the end of the last whole interval, so that delays do not add up."""
        if self._seconds is not None:
            now = time.monotonic()
            self._since = now - (now - self._since) % self._seconds


class Session(Generic[PositionT]):
    """A training in the folder of an unfinished run, from its last checkpoint if there is one.

    As a context it writes a checkpoint on Ctrl-C. Of several processes that train together all
    read the checkpoint, and the one that ``writes`` writes everything.
    """

    def __init__(
        self,
        run: Path,
        trained: Trained,
        start: PositionT,
        every: Interval,
        *,
        unit: str = "tokens",  # of the progress
        subject: str = "",  # fingerprint of what is trained on: it must be that of the checkpoint
        keep: int = 1,  # checkpoints
        writes: bool = True,
    ) -> None:
        self.run, self.position = run, start
        self.show = no_progress
        self._folder, self._trained, self._every = run / CHECKPOINTS, trained, every
        self._unit, self._subject, self._keep, self._writes = unit, subject, keep, writes
        n_lines = self._load()
        self.metrics = Metrics(run / METRICS, n_lines) if writes else None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self._writes:
            self._folder.mkdir(exist_ok=True)
            self.show = self._stack.enter_context(progress("training", self._unit))
        self._every.restart()
        self.step_began = time.perf_counter()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with self._stack, defer_interrupts():  # another Ctrl-C must not cut the checkpoint off
            if self._writes and isinstance(error, KeyboardInterrupt):
                self.save()

    def steps(self, batches: Iterable[BatchT]) -> Iterator[BatchT]:
        """Yield batches; at the end of each, Ctrl-C takes effect and a checkpoint may be due."""
        for batch in batches:
            with defer_interrupts():
                self.step_began = time.perf_counter()
                yield batch
            self.save_if_due()

    def save_if_due(self) -> bool:
        """Write a checkpoint if it is time; return whether it was."""
        if due := self._every.is_due(self.position.step):
            self.save()
            self._every.restart()
        return due

    def save(self) -> None:
        """Write a checkpoint."""
        assert self.metrics is not None
        state = {_LINES: self.metrics.n_lines, _SUBJECT: self._subject}
        state |= dataclasses.asdict(self.position)
        save_checkpoint(self._folder, self._trained.arrays(), state, self._keep)

    def diverged(self, where: str, what: str, advice: str, *, keep: bool = False) -> FirthError:
        """Return the error of a training that failed; drop its checkpoints unless to ``keep``."""
        message = f"training diverged {where}: {what}; pass {advice}"
        if not keep:
            clear_checkpoints(self._folder)
        elif (found := load_checkpoint(self._folder)) is not None:
            message += f"; the checkpoint of step {found[1]['step']:,} is kept"
        return FirthError(message)

    def _load(self) -> int:
        """Load the last checkpoint, if any; return how many lines of the metrics were written."""
        found = load_checkpoint(self._folder)
        if found is None:
            return 0
        arrays, state = found
        if state.pop(_SUBJECT, None) != self._subject:
            raise ArtifactError(
                f"{self._folder}: belongs to another text; pass `force=True` to start over"
            )
        try:
            n_lines = int(state.pop(_LINES))
            for name, first in dataclasses.asdict(self.position).items():
                value = state[name]
                if type(first) in (int, float) and not (type(value) is type(first) and value >= 0):
                    raise ValueError(f"{name} {value!r}")
            for name, array in self._trained.arrays().items():
                if (array.shape, array.dtype) != (arrays[name].shape, arrays[name].dtype):
                    raise ValueError(f"{name} of shape {arrays[name].shape}")
            self.position = type(self.position)(**state)
            self._trained.load(arrays, self.position.step)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise ArtifactError(
                f"{self._folder}: does not fit this training ({error}); pass "
                "`force=True` to start over"
            ) from None
        return n_lines


def lower_rate(rate: float) -> str:
    """Return the advice after a divergence.

    >>> lower_rate(0.1)
    '`learning_rate=0.025` or less'
    """
    return f"`learning_rate={rate / 4:.2g}` or less"
