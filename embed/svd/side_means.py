"""Vectors of what stands beside a word: the means of its left and of its right neighbors."""

import numpy as np
import scipy.sparse as sp

from firth.corpora.common.threads import even_ranges
from firth.embed.svd.cooccurrence import Cooccurrences
from firth.embed.vectors.search import unit_length

_SHARE = 0.5  # length of both means together, the word's own vector having 1
_ENTRIES = 1 << 22  # multiplied at once: fixed, because sums of blocks are added up in order


def with_side_means(
    vectors: np.ndarray, neighbors: Cooccurrences, keep: np.ndarray, width: int
) -> np.ndarray:
    """Return vectors with the mean vectors of left and of right neighbors appended.

    Neighbors have their unit vectors' first ``width`` columns, and count as often as subsampling
    keeps them. The mean of all words is subtracted from either side, since otherwise all would be
    alike. A word that has neighbors on one side only has zeros on the other.
    """
    # vectors: float32 (V, D); neighbors: one row per word, of the words to its left
    # keep: float64 (V,); returns float32 (V, D + 2 width)
    starts, columns, counts = neighbors.rows
    n_words, dim = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    weighted = np.ones((n_words, width + 1), np.float32)
    weighted[:, :width] = vectors[:, :width] / np.where(lengths > 0, lengths, 1)
    weighted *= keep[:, None]
    sums = np.zeros((2, n_words, width + 1), np.float32)
    for first, stop in even_ranges(np.diff(starts), _ENTRIES):
        entries = slice(starts[first], starts[stop])
        block = sp.csr_matrix(
            (counts[entries].astype(np.float32), columns[entries],
             starts[first : stop + 1] - starts[first]),
            shape=(stop - first, n_words),
        )  # fmt: skip
        sums[0, first:stop] = block @ weighted
        sums[1] += block.T @ weighted[first:stop]
    del weighted  # the result needs its memory, and that of the sums
    appended = np.empty((n_words, dim + 2 * width), np.float32)
    appended[:, :dim] = vectors
    for side, start in zip(sums, (dim, dim + width), strict=True):
        appended[:, start : start + width] = _centered(side[:, :-1], side[:, -1:])
    del sums, side
    sides = appended[:, dim:]
    sides[:] = _SHARE * lengths * unit_length(sides)
    return appended


def _centered(sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return means less the mean of all words; 0 where there is none."""
    # sums: float32 (V, W); totals: float32 (V, 1)
    known = totals > 0
    means = np.divide(sums, totals, where=known, out=np.zeros_like(sums))
    means -= means.sum(axis=0) / max(np.count_nonzero(known), 1)
    return means * known
