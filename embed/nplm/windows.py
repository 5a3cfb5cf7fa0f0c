"""The words before each word, and the order in which words are predicted."""

from collections.abc import Iterator

import numpy as np

from firth.embed.nplm.config import NplmConfig
from firth.embed.word2vec.training_text import TrainingText

_ORDER, _NEGATIVES = 1, 2  # keys of the random streams


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
    text: TrainingText, epoch: int, config: NplmConfig, start: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield windows and words to predict of an epoch, from the batch ``start`` on.

    Shards come in order, the words of each in an order that depends on seed, epoch and shard.
    """
    # yields int64 (B, width) and int64 (B,)
    size = config.batch
    for shard, (rows, offsets) in enumerate(text.shards()):
        n_batches = -(-len(rows) // size)
        if start < n_batches:
            key = (_ORDER, config.seed, epoch, shard)
            order, starts = np.random.default_rng(key).permutation(len(rows)), unit_starts(offsets)
        for batch in range(start, n_batches):
            places = order[batch * size : (batch + 1) * size]
            contexts = windows(rows, starts, places, config.window, len(text.words))
            yield contexts, rows[places].astype(np.int64)
        start = max(0, start - n_batches)


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
