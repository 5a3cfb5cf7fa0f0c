"""The training loop: learning rate, loss, progress, checkpoints, and stopping on divergence."""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.artifacts.checkpoint import (
    CHECKPOINTS,
    clear_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from firth.corpora.artifacts.metrics import METRICS, write_unit_losses
from firth.corpora.common.errors import FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.corpora.common.reporting import Progress, note
from firth.embed.word2vec.config import Tuning
from firth.embed.word2vec.metrics import LossSum, TrainingMetrics
from firth.embed.word2vec.schedule import Batch, batches, cut_long_units, learning_rate
from firth.embed.word2vec.trainer import Trainer
from firth.embed.word2vec.training_text import TrainingText
from firth.embed.word2vec.workers import Workers

# Loss per output above which training has diverged. A pair whose scores are all 0 has log 2.
_DIVERGED_LOSS = 4 * math.log(2)
_MIN_PAIRS = 1000  # with fewer pairs, a high loss may be chance


@dataclass(frozen=True)
class Position:
    """Position in a training run, as stored in checkpoints."""

    epoch: int = 0  # next epoch, from 0
    chunk: int = 0  # next chunk, from 0
    tokens: int = 0  # trained on so far, over all epochs
    loss: float = 0.0  # of the epoch so far
    pairs: int = 0  # of the epoch so far


def run_training(trainer: Trainer, directory: Path, progress: Progress) -> None:
    """Train to the end, resuming from a checkpoint in ``directory`` if there is one.

    A checkpoint is written every minute and on KeyboardInterrupt. ``metrics.jsonl``
    gains lines of ``tokens``, ``epoch``, ``loss`` (mean negative log-likelihood per
    pair since the line before), ``rate``, ``tokens_per_second``, ``eta_seconds``, and
    at the end of each epoch ``epoch_loss`` over its ``pairs``, ``held_out_loss`` over
    ``held_out_pairs``, with its ``held_out_standard_error`` from ``held_out_units``, and
    ``tokens_per_second`` since the training began or resumed. ``held_out.npy`` has the losses of
    the units at the end of the last epoch.
    Raises FirthError if the training diverges.
    """
    with trainer.workers() as workers:
        training = _Training(trainer, workers, directory, progress)
        try:
            training.run()
        except KeyboardInterrupt:
            training.save()
            raise


class _Training:
    """A training run in progress."""

    def __init__(
        self, trainer: Trainer, workers: Workers, directory: Path, progress: Progress
    ) -> None:
        self._trainer = trainer
        self._config = trainer.config
        self._tables = trainer.tables
        self._workers = workers
        self._directory = directory
        self._progress = progress
        self._total = trainer.text.n_tokens * trainer.epochs
        self._position = self._load()
        self._metrics = TrainingMetrics(
            directory / METRICS, self._position.tokens, self._position.epoch, self._total,
            trainer.tuning.metrics_seconds,
        )  # fmt: skip
        self._held_out = held_out_batch(trainer.text, trainer.tuning)
        self._saved = time.monotonic()

    def run(self) -> None:
        """Train from the current position to the end."""
        start = (self._position.epoch, self._position.chunk)
        trainer, tuning = self._trainer, self._trainer.tuning
        size = self._workers.batch_size
        for batch in batches(trainer.text, trainer.epochs, size, start, tuning.chunk_tokens):
            if batch.epoch > self._position.epoch:
                self._end_epoch()
            with defer_interrupts():
                self._train_batch(batch)
            if time.monotonic() - self._saved > tuning.checkpoint_seconds:
                self.save()
        if self._position.epoch < self._trainer.epochs:
            self._end_epoch()
        if not all(np.isfinite(table).all() for table in self._tables.blocks()):
            self._check_divergence(
                LossSum(math.nan, 1), self._trainer.epochs - 1, self._rate(self._total)
            )

    def save(self) -> None:
        """Write a checkpoint."""
        folder = self._directory / CHECKPOINTS
        save_checkpoint(folder, self._tables.arrays(), asdict(self._position))
        self._saved = time.monotonic()

    def _train_batch(self, batch: Batch) -> None:
        """Train on a batch; update position, metrics and progress."""
        tokens = [batch.tokens_before(c) for c in range(len(batch) + 1)]
        rates = [self._rate(done) for done in tokens]
        started = time.perf_counter()
        loss = self._workers.train(batch, rates)
        seconds = time.perf_counter() - started
        previous = self._position
        self._position = Position(
            epoch=batch.epoch,
            chunk=batch.number + len(batch),
            tokens=tokens[-1],
            loss=previous.loss + loss.loss,
            pairs=previous.pairs + loss.pairs,
        )
        self._check_divergence(loss, batch.epoch, rates[0])
        self._metrics.add(batch.epoch, tokens[-1], loss, rates[-1], seconds)
        self._progress(tokens[-1], self._total, self._metrics.detail)

    def _rate(self, done: int) -> float:
        """Return the learning rate after ``done`` tokens."""
        config = self._config
        return learning_rate(config.learning_rate, config.final_rate, done, self._total)

    def _end_epoch(self) -> None:
        """Measure the held-out loss and move to the next epoch."""
        at = self._position
        by_unit = self._workers.losses_of(self._held_out) if self._held_out else []
        total = sum(by_unit, start=LossSum(0.0, 0))
        self._check_divergence(total, at.epoch, self._rate(at.tokens))
        if at.pairs and at.loss / at.pairs > math.log(2) * (1 + self._config.negatives):
            note(
                f"epoch {at.epoch + 1}: the loss, {at.loss / at.pairs:.3g}, is above that of "
                "untrained vectors; a smaller `learning_rate` may help"
            )
        if by_unit:
            units = np.array([(unit.loss, unit.pairs) for unit in by_unit], dtype=np.float64)
            write_unit_losses(self._directory, units.T)
        self._metrics.end_epoch(at.epoch, LossSum(at.loss, at.pairs), by_unit)
        self._position = Position(at.epoch + 1, tokens=at.tokens)

    def _check_divergence(self, loss: LossSum, epoch: int, rate: float) -> None:
        """Raise if the loss is not finite or far above that of untrained vectors."""
        limit = _DIVERGED_LOSS * (1 + self._config.negatives)
        too_high = loss.pairs >= _MIN_PAIRS and loss.mean > limit
        if math.isfinite(loss.loss) and not too_high:
            return
        clear_checkpoints(self._directory / CHECKPOINTS)
        raise FirthError(
            f"training diverged in epoch {epoch + 1}, after {self._position.tokens:,} tokens: the "
            f"loss is {loss.mean:.3g} at a learning rate of {rate:.3g}; pass "
            f"`learning_rate={self._config.learning_rate / 4:.2g}` or less"
        )

    def _load(self) -> Position:
        """Load tables and position of the last checkpoint; return the start if there is none."""
        found = load_checkpoint(self._directory / CHECKPOINTS)
        if found is None:
            return Position()
        arrays, state = found
        for name, table in self._tables.arrays().items():
            table[:] = arrays[name]
        return Position(**state)


def held_out_batch(text: TrainingText, tuning: Tuning) -> Batch | None:
    """Return held-out text with a chunk for each of its units; None if nothing is held out.

    Of more than ``held_out_tokens`` every other part is measured, or every third, and so on, so
    that all units are represented.
    """
    step = -(-text.n_held_out_tokens // tuning.held_out_tokens)
    rows, lengths, units = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    n_parts, n_units = 0, 0
    for shard_rows, offsets, bounds in text.held_out_shards():
        offsets = cut_long_units(offsets, tuning.chunk_tokens)
        measured = (n_parts + np.arange(len(offsets) - 1)) % step == 0
        rows.append(shard_rows[np.repeat(measured, np.diff(offsets))])
        lengths.append(np.diff(offsets)[measured])
        units.append(n_units + np.searchsorted(bounds, offsets[:-1][measured], side="right"))
        n_parts, n_units = n_parts + len(offsets) - 1, n_units + len(bounds) - 1
    unit_of = np.concatenate(units)
    if not len(unit_of):
        return None
    offsets = offsets_of(np.concatenate(lengths))
    chunks = np.concatenate([[0], 1 + np.flatnonzero(np.diff(unit_of)), [len(unit_of)]])
    return Batch(0, 0, np.concatenate(rows), offsets, chunks, 0)
