"""The training schedule: epochs, corpus shards, batches of chunks, and the learning rate.

A chunk is some whole units of text. Its random numbers depend on the seed, the epoch and its
number, but not on the thread that trains on it, nor on interruptions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firth.embed.word2vec.training_text import TrainingText

_TRAINING, _HELD_OUT = 1, 2  # keys of the random streams


@dataclass(frozen=True)
class TextBatch:
    """Consecutive chunks of one corpus shard in one epoch."""

    epoch: int  # from 0
    number: int  # of the first chunk, in its epoch
    rows: np.ndarray  # int32 (n,): the shard's words
    offsets: np.ndarray  # int64 (m + 1,): where its units start
    # int64 (C + 1,): the units of chunk c are ``bounds[c]`` to ``bounds[c + 1] - 1``
    bounds: np.ndarray
    before: int  # tokens trained on before this batch, over all epochs

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.bounds) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens in all chunks."""
        return int(self.offsets[self.bounds[-1]] - self.offsets[self.bounds[0]])

    def chunk(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of a chunk and the offsets of its units within the shard."""
        # returns int32 (n,), int64 (m + 1,)
        offsets = self.offsets[self.bounds[c] : self.bounds[c + 1] + 1]
        return self.rows[offsets[0] : offsets[-1]], offsets

    def tokens_before(self, c: int) -> int:
        """Count the tokens trained on before chunk ``c``, over all epochs."""
        return self.before + int(self.offsets[self.bounds[c]] - self.offsets[self.bounds[0]])


def batches(
    text: TrainingText, epoch: int, size: int, start: int, chunk_tokens: int
) -> Iterator[TextBatch]:
    """Yield batches of at most ``size`` chunks of an epoch, from the chunk ``start`` on."""
    number, before = 0, epoch * text.n_tokens
    for rows, offsets in text.shards():
        offsets = cut_long_units(offsets, chunk_tokens)
        bounds = cut_chunks(offsets, chunk_tokens)
        n_chunks = len(bounds) - 1
        for first in range(min(max(start - number, 0), n_chunks), n_chunks, size):
            passed = int(offsets[bounds[first]] - offsets[0])
            yield TextBatch(
                epoch, number + first, rows, offsets, bounds[first : first + size + 1],
                before + passed,
            )  # fmt: skip
        number += n_chunks
        before += int(offsets[-1] - offsets[0])


def cut_long_units(offsets: np.ndarray, chunk_tokens: int) -> np.ndarray:
    """Split units much longer than a chunk, so that threads share them; windows end at a cut."""
    # offsets: int64 (m + 1,); returns int64 (m + n_cuts + 1,)
    long = np.flatnonzero(np.diff(offsets) > 2 * chunk_tokens)
    cuts = [
        np.arange(offsets[unit] + chunk_tokens, offsets[unit + 1] - chunk_tokens, chunk_tokens)
        for unit in long
    ]
    return np.unique(np.concatenate([offsets, *cuts]))


def cut_chunks(offsets: np.ndarray, chunk_tokens: int) -> np.ndarray:
    """Return the unit at which each chunk of about ``chunk_tokens`` tokens starts, and the end."""
    # offsets: int64 (m + 1,); returns int64 (C + 1,)
    if len(offsets) < 2:
        return np.zeros(1, dtype=np.int64)
    marks = np.arange(0, int(offsets[-1]), chunk_tokens)
    firsts = np.searchsorted(offsets[:-1], marks)
    return np.unique(np.append(firsts[firsts < len(offsets) - 1], len(offsets) - 1))


def learning_rate(first: float, last: float, done: int, total: int) -> float:
    """Return the learning rate after ``done`` tokens: it falls linearly, down to ``last``."""
    return max(last, first * (1 - done / total))


def random_state(seed: int, epoch: int, number: int) -> np.ndarray:
    """Return the random state of a chunk in training."""
    # returns uint64 (1,)
    return np.random.SeedSequence((_TRAINING, seed, epoch, number)).generate_state(1, np.uint64)


def held_out_state(number: int) -> np.ndarray:
    """Return the random state of a held-out chunk, the same in every training run."""
    # returns uint64 (1,)
    return np.random.SeedSequence((_HELD_OUT, number)).generate_state(1, np.uint64)
