"""The training loop: learning rate, loss, checkpoints, and stopping on divergence."""

import math
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.reporting import note
from firth.embed.word2vec.config import Tuning
from firth.embed.word2vec.schedule import TextBatch, batches, cut_long_units
from firth.embed.word2vec.text_session import LossSum, TextSession
from firth.embed.word2vec.trainer import Trainer
from firth.embed.word2vec.training_text import TrainingText

# Loss per output above which training has diverged. A pair whose scores are all 0 has log 2.
_DIVERGED_LOSS = 4 * math.log(2)
_MIN_PAIRS = 1000  # with fewer pairs, a high loss may be chance


def train_tables(trainer: Trainer, run: Path) -> None:
    """Train to the end, from the last checkpoint in an unfinished run if there is one."""
    text, tuning, negatives = trainer.text, trainer.tuning, trainer.config.negatives
    held_out = held_out_batch(text, tuning)
    session = TextSession(
        run, trainer.tables, tuning, total=trainer.n_tokens,
        first_rate=trainer.config.learning_rate, most_loss=_DIVERGED_LOSS * (1 + negatives),
        least_pairs=_MIN_PAIRS,
    )  # fmt: skip
    with trainer.workers() as workers, session:
        for epoch in range(session.position.epoch, trainer.epochs):
            size, first = workers.batch_size, session.position.part
            for batch in session.steps(batches(text, epoch, size, first, tuning.chunk_tokens)):
                rates = trainer.rates(batch)
                loss = workers.train(batch, rates)
                session.learned(loss, batch.n_tokens, len(batch), rates[-1])
            mean = session.position.losses.mean
            if mean > math.log(2) * (1 + negatives):
                note(
                    f"epoch {epoch + 1}: the loss, {mean:.3g}, is above that of untrained "
                    "vectors; a smaller `learning_rate` may help"
                )
            session.end_epoch(workers.losses_of(held_out) if held_out else [])
        if not all(np.isfinite(table).all() for table in trainer.tables.blocks()):
            session.check(LossSum(math.nan, 1), math.inf)


def held_out_batch(text: TrainingText, tuning: Tuning) -> TextBatch | None:
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
    return TextBatch(0, 0, np.concatenate(rows), offsets, chunks, 0)
