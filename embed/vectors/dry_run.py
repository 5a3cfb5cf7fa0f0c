"""Estimate what a training takes: the real one is run until it has shown its speed."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.console import human
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.common.reporting import Progress, SilentReporter, no_progress, reporting_to
from firth.corpora.common.system import temporary_folder
from firth.embed.registry import find_method
from firth.embed.vectors.wordlist import word_lines

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

_SECONDS = 4.0  # of training that are timed
_ABOUT = 3_500  # bytes of the settings, provenance, metrics and checksums of a run
_LINE_SECONDS, _LINE_BYTES = 2.0, 150  # of metrics.jsonl


def estimate_training(
    method: str,
    corpus: "Corpus",
    config: Any,
    words: Sequence[str],
    counts: np.ndarray,
    *,
    checkpoint: int,
    more: int = 0,
) -> Estimate:
    """Estimate the cost of a training, with vectors of words, ``more`` numbers, and checkpoints."""
    # counts: int64 (V,)
    watch, train = _Watch(), find_method(method).train_function()
    with (
        temporary_folder() as folder,
        peak_memory() as peak,
        reporting_to(watch),
        contextlib.suppress(_EnoughError),
    ):
        train(corpus, config, folder / "run")
        watch.finished = time.perf_counter()
    seconds = watch.seconds()
    losses, lines = 16 * (corpus.held_out_units + 1), seconds / _LINE_SECONDS + config.epochs
    return Estimate(
        disk=4 * (config.dim * len(words) + more) + len(word_lines(words, counts)) + losses
        + int(lines) * _LINE_BYTES + _ABOUT,
        temporary=room_for_checkpoints(checkpoint),
        memory=peak.bytes,
        seconds=seconds,
        sizes={
            "words": len(words), "dim": config.dim, "epochs": config.epochs,
            watch.unit: round(watch.total), f"{watch.unit}_per_second": round(watch.rate),
        },
        reckoned_from=(
            f"{human(watch.done)} of {human(watch.total)} {watch.unit}, with which the real "
            f"training was begun, {human(watch.rate)} a second"
        ),
    )  # fmt: skip


class _EnoughError(Exception):
    """Ends a training whose speed is known."""


class _Watch(SilentReporter):
    """Times the progress of a training, and ends it after some seconds."""

    def __init__(self) -> None:
        self.started, self.finished = time.perf_counter(), 0.0
        self.first, self.last = (0.0, 0.0), (0.0, 0.0)  # seconds and work done
        self.total, self.unit = 0.0, ""

    @contextlib.contextmanager
    def progress(self, label: str, unit: str) -> Iterator[Progress]:
        """Time the training, and no other work."""
        if label != "training":
            yield no_progress
            return
        self.unit = unit
        yield self._show

    def _show(self, done: float, total: float | None = None, detail: str = "") -> None:
        """Note how much is done; the first part also loads kernels and counts as a start."""
        assert total is not None
        self.last, self.total = (time.perf_counter(), done), total
        if not self.first[1]:
            self.first = self.last
        elif self.last[0] - self.first[0] > _SECONDS:
            raise _EnoughError

    @property
    def done(self) -> float:
        """The work that was timed."""
        return self.last[1]

    @property
    def rate(self) -> float:
        """Work per second; of all if it was done in one part."""
        if self.last == self.first:
            return self.done / (self.last[0] - self.started)
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])

    def seconds(self) -> float:
        """Return the seconds of the whole training."""
        if self.finished:
            return self.finished - self.started
        return self.last[0] - self.started + (self.total - self.done) / self.rate
