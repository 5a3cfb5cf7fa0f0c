"""Chance in training: which words are drawn as negative samples, which tokens are left out.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their
Compositionality" (NIPS), sections 2.2 and 2.3.
"""

from typing import NamedTuple

import numpy as np

from corpora.common.errors import SettingError

_WHOLE = 1 << 32  # both halves of a random number are shares of this
# A centre is not its own negative: where one word is nearly all of the noise, a kernel that
# draws again for that word would hardly come to an end.
_LEAST_REST = 1e-6


class NoiseTable(NamedTuple):
    """Words with their chances, to be drawn with one 64-bit random number each.

    The table has a column for each word, of which part is its own and the rest
    one other word's (Walker 1977, ACM Transactions on Mathematical Software 3).
    A random number r names the column ``j = ((r >> 32) * V) >> 32``; what is
    drawn is j if ``(r & 0xFFFFFFFF) < limits[j]``, else ``others[j]``.
    """

    limits: np.ndarray  # uint32 (V,): A word's own part of its column, as a share of 2^32
    others: np.ndarray  # int32 (V,): whose the rest is; the word itself where all of it is its own


def noise_table(counts: np.ndarray, exponent: float) -> NoiseTable:
    """Make the distribution of negative samples, count^exponent over its sum.

    Exact but for the limits' rounding: a word's chance is off by less than
    2^-32, and that the columns cannot all be named by equally many numbers is
    allowed for. O(V) time and memory (Vose 1991, IEEE Transactions on Software
    Engineering 17); the same table every time.
    """
    # counts: int64 (V,)
    from embed.word2vec.kernels.alias_table import fill_columns

    weights = _weights(counts, exponent)
    if np.count_nonzero(weights) < 2 or _rest(weights) < _LEAST_REST:
        raise SettingError(_refusal(weights, exponent))
    # how many of the 2^32 upper halves name each column: ceil of j * 2^32 / V is the first
    firsts = -(-np.arange(len(weights) + 1, dtype=np.int64) * _WHOLE // len(weights))
    limits = np.where(weights > 0, _WHOLE - 1, 0).astype(np.uint32)
    others = np.where(weights > 0, np.arange(len(weights)), weights.argmax()).astype(np.int32)
    fill_columns(weights * (_WHOLE / weights.sum()), np.diff(firsts), limits, others)
    return NoiseTable(limits, others)


def keep_limits(counts: np.ndarray, threshold: float) -> np.ndarray:
    """Give the limits below which a random number keeps an occurrence of each word.

    The formula is that of word2vec's C code, sqrt(t / f) + t / f with f the
    word's share of all tokens; that of the paper (equation 5) is sqrt(t / f),
    which keeps fewer.
    """
    # counts: int64 (V,); returns uint64 (V,)
    if threshold == 0:
        return np.full(len(counts), _WHOLE, np.uint64)
    share = np.maximum(counts, 1) / max(1, int(counts.sum()))  # what is not there is kept
    ratio = threshold / share
    limits: np.ndarray = np.rint(np.minimum(1.0, np.sqrt(ratio) + ratio) * _WHOLE)
    return limits.astype(np.uint64)


def _weights(counts: np.ndarray, exponent: float) -> np.ndarray:
    """count^exponent, the largest 1 so that no exponent overflows; 0 where the count is 0."""
    occurs = counts > 0
    weights = np.zeros(len(counts))
    if occurs.any():
        base = counts.max() if exponent > 0 else counts[occurs].min()
        weights[occurs] = (counts[occurs] / base) ** exponent
    return weights


def _rest(weights: np.ndarray) -> float:
    """What share of the noise is not the heaviest word's."""
    rest = np.delete(weights, weights.argmax()).sum()
    return float(rest / (rest + weights.max()))


def _refusal(weights: np.ndarray, exponent: float) -> str:
    """Why no noise can be drawn."""
    if np.count_nonzero(weights) < 2 and abs(exponent) <= 1:
        return (
            f"negative samples need a vocabulary of at least 2 words, this one has "
            f"{np.count_nonzero(weights)}; pass a smaller `min_count` or more text"
        )
    return (
        f"`unigram_exponent={exponent:g}` leaves one word nearly all of the negative samples; "
        "pass one nearer to 0"
    )
