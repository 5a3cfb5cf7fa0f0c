"""Random choices of training: the distribution of negative samples, and subsampling.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their
Compositionality" (NIPS), sections 2.2 and 2.3.
"""

from typing import NamedTuple

import numpy as np

from firth.corpora.common.errors import SettingError

WHOLE = 1 << 32  # both halves of a 64-bit random number are fractions of this
# A center is never its own negative, so the kernel draws again; if one word were nearly all of
# the noise, that could take forever.
_MIN_REST = 1e-6


class NoiseTable(NamedTuple):
    """Alias table from which a word is drawn with one 64-bit random number.

    The table has a column for each word, part of which is its own and the rest
    one other word's (Walker 1977, ACM Transactions on Mathematical Software 3).
    A random number r selects the column ``j = ((r >> 32) * V) >> 32``; the word
    drawn is j if ``(r & 0xFFFFFFFF) < limits[j]``, else ``others[j]``.
    """

    limits: np.ndarray  # uint32 (V,): the word's own part of its column, as a fraction of 2^32
    others: np.ndarray  # int32 (V,): owner of the rest; the word itself if it owns the column


def noise_table(counts: np.ndarray, exponent: float) -> NoiseTable:
    """Return the alias table of the negative samples, proportional to count^exponent.

    Exact up to the rounding of the limits: probabilities are off by less than
    2^-32. The columns are not all selected by equally many random numbers, which
    is corrected for. O(V) time and memory (Vose 1991, IEEE Transactions on
    Software Engineering 17); deterministic. Counts [3, 1] at exponent 1 give
    limits [2^32 - 1, 2^31] and others [0, 0]. Words with count 0 are never drawn.

    Exponents below 0 suit recommendations (Caselles-Dupré et al. 2018,
    arXiv:1804.04212). Raises SettingError if fewer than two words can be drawn.
    """
    # counts: int64 (V,)
    from firth.corpora.common.alias_kernels import fill_columns

    weights = _weights(counts, exponent)
    if np.count_nonzero(weights) < 2 or _rest(weights) < _MIN_REST:
        raise SettingError(
            f"`unigram_exponent={exponent:g}`: nearly all negative samples would be one word; pass "
            "a value closer to 0"
        )
    # number of the 2^32 upper halves that select each column; the first is ceil(j * 2^32 / V)
    firsts = -(-np.arange(len(weights) + 1, dtype=np.int64) * WHOLE // len(weights))
    limits = np.where(weights > 0, WHOLE - 1, 0).astype(np.uint32)
    others = np.where(weights > 0, np.arange(len(weights)), weights.argmax()).astype(np.int32)
    fill_columns(weights * (WHOLE / weights.sum()), np.diff(firsts), limits, others)
    return NoiseTable(limits, others)


def keep_limits(counts: np.ndarray, threshold: float) -> np.ndarray:
    """Return per word the limit below which a 32-bit random number keeps an occurrence.

    The probability is that of word2vec's C code, sqrt(t / f) + t / f with f the
    word's share of all tokens; the paper's (equation 5) is sqrt(t / f), which
    keeps fewer. A word that is 1 % of the tokens at t = 1e-4 is kept with
    probability 0.11. A limit of 2^32 keeps everything, as does threshold 0.
    """
    # counts: int64 (V,); returns uint64 (V,)
    if threshold == 0:
        return np.full(len(counts), WHOLE, np.uint64)
    share = np.maximum(counts, 1) / max(1, int(counts.sum()))  # words with count 0 are kept
    ratio = threshold / share
    limits: np.ndarray = np.rint(np.minimum(1.0, np.sqrt(ratio) + ratio) * WHOLE)
    return limits.astype(np.uint64)


def _weights(counts: np.ndarray, exponent: float) -> np.ndarray:
    """Return count^exponent, scaled to a maximum of 1 against overflow; 0 if the count is 0."""
    occurs = counts > 0
    weights = np.zeros(len(counts))
    if occurs.any():
        base = counts.max() if exponent > 0 else counts[occurs].min()
        weights[occurs] = (counts[occurs] / base) ** exponent
    return weights


def _rest(weights: np.ndarray) -> float:
    """Return the share of all words but the likeliest."""
    rest = np.delete(weights, weights.argmax()).sum()
    return float(rest / (rest + weights.max()))
