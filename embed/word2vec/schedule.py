"""The order of training: epochs, shards of the corpus, batches of chunks; and the rate at each.

A chunk is some whole units of text. Its random numbers are keyed by the seed, the epoch and its
number, so that it does not matter who trains on it, or when training was interrupted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from embed.word2vec.training_text import TrainingText

_TRAINING, _HELD_OUT = 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Batch:
    """Some chunks in a row, of one shard of the corpus and one epoch."""

    epoch: int  # from 0
    number: int  # of the first chunk, in its epoch
    rows: np.ndarray  # int32 (n,): the shard's words
    offsets: np.ndarray  # int64 (m + 1,): where its units begin
    # int64 (P + 1,): the units of chunk p are ``bounds[p]`` to ``bounds[p + 1] - 1``
    bounds: np.ndarray
    before: int  # tokens of all epochs before this batch

    def __len__(self) -> int:
        """Chunks."""
        return len(self.bounds) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens in all chunks."""
        return int(self.offsets[self.bounds[-1]] - self.offsets[self.bounds[0]])

    def chunk(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the words of one chunk and where its units begin."""
        # returns rows, offsets: int32 (n,), int64 (m + 1,)
        offsets = self.offsets[self.bounds[p] : self.bounds[p + 1] + 1]
        return self.rows[offsets[0] : offsets[-1]], offsets

    def tokens_before(self, p: int) -> int:
        """Count the tokens of all epochs before a chunk."""
        return self.before + int(self.offsets[self.bounds[p]] - self.offsets[self.bounds[0]])


def batches(
    text: TrainingText, epochs: int, size: int, start: tuple[int, int], chunk_tokens: int
) -> Iterator[Batch]:
    """Go through the text as often as asked for, some chunks at a time."""
    for epoch in range(start[0], epochs):
        number, before = 0, epoch * text.n_tokens
        for rows, offsets in text.shards():
            offsets = cut_long_units(offsets, chunk_tokens)
            bounds = cut_chunks(offsets, chunk_tokens)
            n_chunks = len(bounds) - 1
            skip = min(max(start[1] - number, 0), n_chunks) if epoch == start[0] else 0
            for first in range(skip, n_chunks, size):
                passed = int(offsets[bounds[first]] - offsets[0])
                yield Batch(
                    epoch, number + first, rows, offsets, bounds[first : first + size + 1],
                    before + passed,
                )  # fmt: skip
            number += n_chunks
            before += int(offsets[-1] - offsets[0])


def cut_long_units(offsets: np.ndarray, chunk_tokens: int) -> np.ndarray:
    """Cut units that are longer than a chunk, which one thread would have to itself.

    Every word is trained on; windows near a cut, one in some thousands, end there.
    """
    # offsets: int64 (m + 1,); returns int64 (m + n + 1,)
    long = np.flatnonzero(np.diff(offsets) > 2 * chunk_tokens)
    cuts = [
        np.arange(offsets[unit] + chunk_tokens, offsets[unit + 1] - chunk_tokens, chunk_tokens)
        for unit in long
    ]
    return np.unique(np.concatenate([offsets, *cuts]))


def cut_chunks(offsets: np.ndarray, chunk_tokens: int) -> np.ndarray:
    """Cut a shard into chunks of about the same number of tokens."""
    # offsets: int64 (m + 1,); returns int64 (P + 1,)
    if len(offsets) < 2:
        return np.zeros(1, dtype=np.int64)
    marks = np.arange(0, int(offsets[-1]), chunk_tokens)
    firsts = np.searchsorted(offsets[:-1], marks)
    return np.unique(np.append(firsts[firsts < len(offsets) - 1], len(offsets) - 1))


def learning_rate(first: float, last: float, done: int, total: int) -> float:
    """Say what the rate is: it falls linearly with the tokens behind us, down to a floor."""
    return max(last, first * (1 - done / total))


def random_state(seed: int, epoch: int, number: int) -> np.ndarray:
    """Key the random numbers of one chunk."""
    # returns uint64 (1,)
    return np.random.SeedSequence((_TRAINING, seed, epoch, number)).generate_state(1, np.uint64)


def held_out_state(number: int) -> np.ndarray:
    """Key the random numbers of one chunk of the held-out text: the same in every training."""
    # returns uint64 (1,)
    return np.random.SeedSequence((_HELD_OUT, number)).generate_state(1, np.uint64)
