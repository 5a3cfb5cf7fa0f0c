"""The training loop: rate, loss, progress, checkpoints, and when to give up."""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.checkpoint import clear_checkpoints, load_checkpoint, save_checkpoint
from corpora.artifacts.metrics import METRICS, Metrics
from corpora.common.errors import FirthError
from corpora.common.interrupts import defer_interrupts
from corpora.common.reporting import Progress, note
from embed.word2vec.config import Tuning
from embed.word2vec.schedule import Batch, batches, cut_chunks, learning_rate
from embed.word2vec.trainer import Trainer
from embed.word2vec.training_text import TrainingText
from embed.word2vec.workers import Tally, Workers

CHECKPOINTS = "checkpoints"
# A pair whose scores are all 0 loses log 2 for each output. No training that goes well is worse.
_DIVERGED = 4 * math.log(2)
_JUDGED_PAIRS = 1000  # of fewer, chance may be to blame


@dataclass(frozen=True)
class Position:
    """Where a training is."""

    epoch: int = 0  # what comes next, from 0
    chunk: int = 0  # what comes next, from 0
    tokens: int = 0  # behind us in all epochs
    loss: float = 0.0  # of the epoch so far
    pairs: int = 0  # of the epoch so far


def run_training(trainer: Trainer, directory: Path, tell: Progress) -> None:
    """Train, or go on training, to the end.

    Every minute a checkpoint is written to ``directory``, and when the person
    interrupts; the next call goes on from there. ``metrics.jsonl`` gains lines
    of ``tokens``, ``epoch``, ``loss`` (mean negative log-likelihood of a pair since
    the line before), ``rate``, ``tokens_per_second``, ``eta_seconds``, and at the end
    of each epoch ``epoch_loss`` over its ``pairs`` and ``held_out_loss`` over
    ``held_out_pairs``.
    """
    with trainer.workers() as workers:
        training = _Training(trainer, workers, directory, tell)
        try:
            training.run()
        except KeyboardInterrupt:
            training.save()
            raise


class _Training:
    """One training on its way."""

    def __init__(self, trainer: Trainer, workers: Workers, directory: Path, tell: Progress) -> None:
        self._trainer = trainer
        self._config = trainer.config
        self._tables = trainer.tables
        self._workers = workers
        self._directory = directory
        self._tell = tell
        self._total = trainer.text.n_tokens * trainer.epochs
        self._position = self._load()
        self._told = _Told(
            directory / METRICS, self._position, self._total, trainer.tuning.metrics_seconds
        )
        self._held_out = held_out_batch(trainer.text, trainer.tuning)
        self._saved = time.monotonic()

    def run(self) -> None:
        """Train from the position on."""
        start = (self._position.epoch, self._position.chunk)
        trainer, tuning = self._trainer, self._trainer.tuning
        size = self._workers.batch_size
        for batch in batches(trainer.text, trainer.epochs, size, start, tuning.chunk_tokens):
            if batch.epoch > self._position.epoch:
                self._end_epoch()
            with defer_interrupts():
                self._train(batch)
            if time.monotonic() - self._saved > tuning.checkpoint_seconds:
                self.save()
        if self._position.epoch < self._trainer.epochs:
            self._end_epoch()
        if not all(np.isfinite(table).all() for table in self._tables.blocks()):
            self._refuse_divergence(
                Tally(math.nan, 1), self._trainer.epochs - 1, self._rate(self._total)
            )

    def save(self) -> None:
        """Write a checkpoint."""
        folder = self._directory / CHECKPOINTS
        save_checkpoint(folder, self._tables.arrays(), asdict(self._position))
        self._saved = time.monotonic()

    def _train(self, batch: Batch) -> None:
        """One batch, and what there is to tell of it."""
        marks = [batch.tokens_before(p) for p in range(len(batch) + 1)]
        rates = [self._rate(done) for done in marks]
        begun = time.perf_counter()
        tally = self._workers.train(batch, rates)
        seconds = time.perf_counter() - begun
        at = self._position
        self._position = Position(
            epoch=batch.epoch,
            chunk=batch.number + len(batch),
            tokens=marks[-1],
            loss=at.loss + tally.loss,
            pairs=at.pairs + tally.pairs,
        )
        self._refuse_divergence(tally, batch.epoch, rates[0])
        self._told.add(batch.epoch, marks[-1], tally, rates[-1], seconds)
        self._tell(marks[-1], self._total, self._told.detail)

    def _rate(self, done: int) -> float:
        """The learning rate when so many tokens are behind us."""
        config = self._config
        return learning_rate(config.learning_rate, config.final_rate, done, self._total)

    def _end_epoch(self) -> None:
        """Measure the held-out loss; go on to the next epoch."""
        at = self._position
        held_out = self._workers.loss_of(self._held_out) if self._held_out else Tally(0.0, 0)
        self._refuse_divergence(held_out, at.epoch, self._rate(at.tokens))
        if at.pairs and at.loss / at.pairs > math.log(2) * (1 + self._config.negatives):
            note(
                f"epoch {at.epoch + 1}: the loss, {at.loss / at.pairs:.3g}, is worse than that of "
                "knowing nothing; a smaller `learning_rate` may help"
            )
        self._told.end_epoch(at.epoch, Tally(at.loss, at.pairs), held_out)
        self._position = Position(at.epoch + 1, tokens=at.tokens)

    def _refuse_divergence(self, tally: Tally, epoch: int, rate: float) -> None:
        """Stop where the loss shows that the vectors have become useless."""
        worst = _DIVERGED * (1 + self._config.negatives)
        too_bad = tally.pairs >= _JUDGED_PAIRS and tally.mean > worst
        if math.isfinite(tally.loss) and not too_bad:
            return
        clear_checkpoints(self._directory / CHECKPOINTS)
        raise FirthError(
            f"training diverged in epoch {epoch + 1}, after {self._position.tokens:,} tokens: the "
            f"loss is {tally.mean:.3g} at a rate of {rate:.3g}; pass "
            f"`learning_rate={self._config.learning_rate / 4:.2g}` or less"
        )

    def _load(self) -> Position:
        """The position of the last checkpoint, with its tables; the start if there is none."""
        found = load_checkpoint(self._directory / CHECKPOINTS)
        if found is None:
            return Position()
        arrays, state = found
        if "piece" in state:  # what older checkpoints call a chunk
            state["chunk"] = state.pop("piece")
        for name, table in self._tables.arrays().items():
            table[:] = arrays[name]
        return Position(**state)


class _Told:
    """What ``metrics.jsonl`` and the person are told while training goes on."""

    def __init__(self, path: Path, at: Position, total: int, seconds: float) -> None:
        self._tokens, self._total = at.tokens, total
        self._since, self._since_tokens, self._seconds = Tally(0.0, 0), 0, 0.0
        self._written, self._every = time.monotonic(), seconds
        self.detail = ""
        self._metrics = Metrics(
            path,
            lambda line: (
                line["tokens"] <= at.tokens and ("loss" in line or line["epoch"] <= at.epoch)
            ),
        )

    def add(self, epoch: int, tokens: int, tally: Tally, rate: float, seconds: float) -> None:
        """Take in what a batch gave; write a line every few seconds."""
        self._since += tally
        self._since_tokens += tokens - self._tokens
        self._seconds += seconds
        self._tokens = tokens
        self.detail = f"loss {self._since.mean:.4f}  rate {rate:.4f}"
        if time.monotonic() - self._written < self._every:
            return
        speed = self._since_tokens / self._seconds
        self._write(
            tokens=tokens,
            epoch=epoch + 1,
            loss=self._since.mean,
            rate=rate,
            tokens_per_second=round(speed),
            eta_seconds=round((self._total - tokens) / speed, 1),
        )
        self._since, self._since_tokens, self._seconds = Tally(0.0, 0), 0, 0.0

    def end_epoch(self, epoch: int, tally: Tally, held_out: Tally) -> None:
        """Write what an epoch came to."""
        self._write(
            tokens=self._tokens,
            epoch=epoch + 1,
            epoch_loss=tally.mean,
            pairs=tally.pairs,
            held_out_loss=held_out.mean,
            held_out_pairs=held_out.pairs,
        )

    def _write(self, **line: Any) -> None:
        """Add a line."""
        self._metrics.write(**line)
        self._written = time.monotonic()


def held_out_batch(text: TrainingText, tuning: Tuning) -> Batch | None:
    """Take the first of the held-out text; the same whatever is done with the rest."""
    for rows, offsets in text.held_out_shards():
        last = int(np.searchsorted(offsets, tuning.held_out_tokens, side="right")) - 1
        offsets = offsets[: max(last, 1) + 1]
        chunks = cut_chunks(offsets, tuning.chunk_tokens)
        return Batch(0, 0, rows[: offsets[-1]], offsets, chunks, 0)
    return None
