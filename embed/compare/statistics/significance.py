"""Is a difference real: paired tests of two runs, and the correction for many comparisons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embed.compare.statistics.bootstrap import LEVEL, Resampled, percentiles
from embed.compare.statistics.estimators import Means

_FLIPS = 9_999
_ROUNDING = 1e-9  # of a sum, what adding in another order may change


@dataclass(frozen=True)
class Difference:
    """How far one run is ahead of another on the same items."""

    difference: float  # the one's score less the other's; NaN where either is undefined
    low: float  # its 95 % bootstrap interval; NaN where undefined
    high: float  # its 95 % bootstrap interval; NaN where undefined
    # chance of a difference at least as large, to either side, between runs that are equally good;
    # not corrected for other comparisons. NaN where undefined
    p: float


def paired(a: Resampled, b: Resampled, units: np.ndarray | None = None) -> Difference:
    """Compare two runs, or methods of several seeds, on the same items.

    The interval is the percentile interval of the replicates' differences. Means are
    tested by flipping signs (:func:`sign_flip`), since the bootstrap finds differences too
    easily where few items differ: at five questions, all answered by the same run alone,
    it gives p = 0.01, though chance does that to one side or the other in 1 of 16 cases.

    Correlations and clusters have no differences item by item. There p is that of
    difference / (standard deviation of the replicates' differences) as a standard normal
    deviate (Efron & Tibshirani 1993, section 12.2 and chapter 15). Counting replicates
    beyond zero instead could give nothing below 2 / (B + 1), too much to survive the
    correction for many comparisons. In simulations of equally good runs p was 0.05 or less
    in 1 to 6 % of cases for Spearman's correlation (4 to 353 pairs), in 2 to 7 % for
    Pearson's (4 to 100), and in 2 to 8 % for clusters (45 to 402 items), mutual information
    erring most.

    Where items share units, flipping the sign of each by itself finds differences too easily.
    There the signs of units are flipped, each with the differences of all its items, for each of
    the k places by itself, and p is the largest one of these and of that by the normal
    distribution.

    Where methods have several seeds, other seeds might have changed the difference, too. Then the
    variance is the replicates' plus those of both means over seeds, and p is that of Student's t
    with the degrees of freedom of this sum (Satterthwaite 1946, "An approximate distribution of
    estimates of variance components"); of shares the larger one of this and of flipped signs.
    """
    # units: int64 (n_items, k)
    difference = a.score - b.score
    replicates = a.replicates - b.replicates
    low, high = percentiles(replicates, LEVEL)
    shares = isinstance(a.statistic, Means) and isinstance(b.statistic, Means)
    if difference == 0:
        p = 1.0
    elif shares and units is None and a.n_seeds == b.n_seeds == 1:
        p = _flipped(a, b, None)
    elif math.isnan(low):
        p = math.nan
    else:
        p = _normal_p(difference, float(np.nanvar(replicates, ddof=1)), (a, b))
        p = float(np.fmax(p, _flipped(a, b, units))) if shares else p  # one may be undefined
    return Difference(difference, low, high, p)


def sign_flip(differences: np.ndarray, *, block: int = 1 << 19) -> float:
    """Test whether the mean of paired differences is zero.

    Fisher 1935, "The Design of Experiments", section 21: were two runs equally good, each
    item might as well have favored the other, so every choice of signs is as likely as
    the one found. Where all differences that are not zero have one size, as those of
    right and wrong answers, p is exact (McNemar 1947, "Note on the sampling error of the
    difference between correlated proportions", by the binomial distribution). Else 9,999
    choices are drawn, always from the same stream, and p is the share of them, the one
    found included, whose sum is as far from zero (Phipson & Smyth 2010, "Permutation
    p-values should never be zero").
    """
    # differences: float64 (n,)
    moved = differences[differences != 0]
    if len(moved) == 0:
        return 1.0
    sizes = np.sort(np.abs(moved))  # sorted, lest p depend on the order of the items
    if (sizes == sizes[0]).all():
        from scipy.special import bdtr

        fewer = min(int((moved > 0).sum()), int((moved < 0).sum()))
        return min(1.0, 2 * float(bdtr(fewer, len(moved), 0.5)))
    least = abs(moved.sum()) - _ROUNDING * sizes.sum()
    return (1 + _sums_beyond(sizes, least, block)) / (1 + _FLIPS)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Correct p-values for being many.

    Holm 1979, "A simple sequentially rejective multiple test procedure": the k-th smallest
    of m is multiplied by m + 1 - k, and none falls below a smaller one. To call a
    difference real where its corrected p is at most x keeps the chance of even one false
    call at x or less, however the comparisons depend on each other.
    """
    # returns float64 (m,)
    corrected = np.array(p, dtype=np.float64)
    order = np.argsort(corrected)[: np.count_nonzero(~np.isnan(corrected))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(corrected[order] * factors), 1.0)
    return corrected


def _flipped(a: Resampled, b: Resampled, units: np.ndarray | None) -> float:
    """The p of two means by flipping signs, of items or of the units that they share."""
    assert isinstance(a.statistic, Means)
    assert isinstance(b.statistic, Means)
    differences = a.statistic.values.astype(np.float64) - b.statistic.values
    if units is None:
        return sign_flip(differences)
    sums = (np.bincount(column, differences) for column in units.T)  # of questions by their pairs
    return max(sign_flip(each) for each in sums)


def _normal_p(difference: float, over_items: float, two: Sequence[Resampled]) -> float:
    """Two-sided p of a difference with these variances; NaN where they are rounding alone."""
    from scipy.special import stdtr

    seed_terms = [(run.deviation**2 / run.n_seeds, run.n_seeds - 1) for run in two if run.deviation]
    variance = over_items + math.fsum(part for part, _ in seed_terms)
    if math.sqrt(variance) <= _ROUNDING * abs(difference):
        return math.nan
    deviate = abs(difference) / math.sqrt(variance)
    if not seed_terms:
        return math.erfc(deviate / math.sqrt(2))
    freedom = variance**2 / math.fsum(part**2 / degrees for part, degrees in seed_terms)
    return 2 * float(stdtr(freedom, -deviate))


def _sums_beyond(sizes: np.ndarray, least: float, block: int) -> int:
    """How many of the drawn choices of signs give a sum at least so far from zero."""
    generator = np.random.default_rng(0)
    step, beyond = max(1, block // len(sizes)), 0
    for start in range(0, _FLIPS, step):
        shape = min(step, _FLIPS - start), len(sizes)
        bits = np.frombuffer(generator.bytes(-(-shape[0] * shape[1] // 8)), np.uint8)
        positive = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
        sums = 2 * (positive.astype(np.float64) @ sizes) - sizes.sum()
        beyond += int(np.count_nonzero(np.abs(sums) >= least))
    return beyond
