"""The words before each word, and the order in which words are predicted."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firth.embed.word2vec.training_text import TrainingText

_ORDER, _NEGATIVES = 1, 2  # keys of the random streams


@dataclass(frozen=True)
class Position:
    """Position in a training, as stored in checkpoints."""

    epoch: int = 0  # next epoch, from 0
    shard: int = 0  # next shard, from 0
    batch: int = 0  # next batch in it, from 0
    step: int = 0  # steps so far, over all epochs
    tokens: int = 0  # predicted so far, over all epochs
    loss: float = 0.0  # of the epoch so far
    count: int = 0  # tokens of the epoch so far


def windows(
    rows: np.ndarray, starts: np.ndarray, places: np.ndarray, width: int, padding: int
) -> np.ndarray:
    """Return the ``width`` words before each place, the nearest first, within its unit of text.

    ``padding`` stands for words before the unit. ``starts`` is where the unit of each word starts.
    """
    # rows: int32 (n,); starts: int64 (n,); places: int64 (B,); returns int64 (B, width)
    before = places[:, None] - np.arange(1, width + 1)
    inside = before >= starts[places][:, None]
    return np.where(inside, rows[np.maximum(before, 0)], padding).astype(np.int64)


def unit_starts(offsets: np.ndarray) -> np.ndarray:
    """Return, for every word, where its unit of text starts."""
    # offsets: int64 (m + 1,); returns int64 (n,)
    return np.repeat(offsets[:-1], np.diff(offsets))


def batches(
    text: TrainingText, *, width: int, size: int, epochs: int, seed: int, start: Position
) -> Iterator[tuple[int, int, int, np.ndarray, np.ndarray]]:
    """Yield epoch, shard, batch, windows and words to predict, from a position to the end.

    Shards come in order, the words of each in an order that depends on seed, epoch and shard.
    """
    # yields int64 (B, width) and int64 (B,)
    for epoch in range(start.epoch, epochs):
        resumes = epoch == start.epoch
        for shard, (rows, offsets) in enumerate(text.shards()):
            if (resumes and shard < start.shard) or not len(rows):
                continue
            first = start.batch if resumes and shard == start.shard else 0
            order = np.random.default_rng((_ORDER, seed, epoch, shard)).permutation(len(rows))
            starts = unit_starts(offsets)
            for batch in range(first, -(-len(rows) // size)):
                places = order[batch * size : (batch + 1) * size]
                contexts = windows(rows, starts, places, width, len(text.words))
                yield epoch, shard, batch, contexts, rows[places].astype(np.int64)


class Noise:
    """Draws the words to which the softmax of a step is restricted, by their frequency."""

    def __init__(self, counts: np.ndarray, samples: int, seed: int) -> None:
        # counts: int64 (V,)
        self._bounds = np.cumsum(counts, dtype=np.float64) / counts.sum()
        self._log_expected = np.log(samples * np.maximum(counts, 1) / counts.sum())
        self._samples = samples
        self._seed = seed

    def draw(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct words of a step, ascending, and the log weight of each.

        A word drawn c times of k with probability q has the weight c / (k q), so that the weighted
        sum of exponentials over the words has the sum over the vocabulary as its expected value.
        """
        # returns int64 (K,), float32 (K,)
        rng = np.random.default_rng((_NEGATIVES, self._seed, step))
        drawn = np.searchsorted(self._bounds, rng.random(self._samples), side="right")
        words, times = np.unique(np.minimum(drawn, len(self._bounds) - 1), return_counts=True)
        return words, (np.log(times) - self._log_expected[words]).astype(np.float32)
