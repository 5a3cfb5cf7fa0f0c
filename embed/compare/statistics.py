"""Is a difference real: bootstrap intervals, paired tests, correction for many comparisons.

All runs are scored on the same draws of items: a draw that is easy for one run is easy for
the others, so that differences vary less than the scores do. What is told here is what
other items of the same kind would change; what another seed of the training would change,
:func:`seed_spread` tells of several runs.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embed.compare.samples import Contingency, Means, Sample

_LEVEL = 0.95
_FLIPS = 9_999
_BLOCK = 1 << 19  # signs held at a time
_ROUNDING = 1e-9  # of a sum, what adding in another order may change


@dataclass(frozen=True, eq=False)
class Resampled:
    """A sample's score and replicates, computed once for all comparisons it is part of.

    Attributes
    ----------
    sample : Sample
        What was scored.
    score : float
        Every item counted once; NaN where undefined.
    replicates : float64 (B,)
        The score in each draw of items; NaN where undefined.
    """

    sample: Sample
    score: float
    replicates: np.ndarray


@dataclass(frozen=True)
class Difference:
    """How far one run is ahead of another on the same items.

    Attributes
    ----------
    difference : float
        The one's score less the other's; NaN where either is undefined.
    low, high : float
        Its 95 % bootstrap interval; NaN where undefined.
    p : float
        Chance of a difference at least as large, to either side, between runs that are
        equally good; not corrected for other comparisons. NaN where undefined.
    """

    difference: float
    low: float
    high: float
    p: float


def draw_counts(n_items: int, replicates: int, seed: int, name: str) -> np.ndarray:
    """Draw as many items as there are, with replacement, many times over.

    Parameters
    ----------
    n_items : int
        At least 1.
    replicates : int
        B, the number of draws.
    seed : int
        At least 0.
    name : str
        Of the data set. The draws are keyed by seed and name, so that they depend
        neither on the runs nor on the other sets of a comparison.

    Returns
    -------
    uint8 (B, n_items)
        How often each item was drawn; rows sum to ``n_items``. That a count exceeds 255
        has a chance below 10^-490.

    Examples
    --------
    >>> draw_counts(5, 3, seed=1, name="wordsim353").sum(axis=1).tolist()
    [5, 5, 5]
    """
    key = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    generator = np.random.default_rng([seed, int.from_bytes(key, "little")])
    counts = np.empty((replicates, n_items), np.uint8)
    for row in counts:
        row[:] = np.bincount(generator.integers(n_items, size=n_items), minlength=n_items)
    return counts


def resample(sample: Sample, counts: np.ndarray) -> Resampled:
    """Score a sample as it is and in every draw.

    Clusters are another matter: copies of one item always agree with each other, which
    raises every replicate of purity, mutual information and Rand index, often above the
    score's own interval. So they are scored on the distinct items of each draw, a share f
    of all, and what these replicates vary about their mean is widened by
    sqrt(f / (1 - f)) and laid around the score (delete-d jackknife: Shao & Wu 1989, "A
    general theory for jackknife variance estimation").

    Parameters
    ----------
    sample : Sample
        The scored items of one run.
    counts : int (B, n_items)
        Of :func:`draw_counts`; the same for all runs that are to be compared.

    Returns
    -------
    Resampled
        Of a sample of one item, all replicates are NaN: it tells nothing of others.
    """
    n_items = sample.n_items
    [score] = sample.evaluate(np.ones((1, n_items), np.uint8)).tolist()
    if n_items == 1:
        return Resampled(sample, score, np.full(len(counts), np.nan))
    if not isinstance(sample, Contingency):
        return Resampled(sample, score, sample.evaluate(counts))
    replicates = sample.evaluate((counts > 0).astype(np.uint8))
    left_out = (1 - 1 / n_items) ** n_items
    wider = math.sqrt((1 - left_out) / left_out)
    return Resampled(sample, score, score + wider * (replicates - replicates.mean()))


def interval(resampled: Resampled, level: float = _LEVEL) -> tuple[float, float]:
    """Give the percentile interval of a score.

    Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13: the quantiles
    (1 - level) / 2 and (1 + level) / 2 of the replicates. In simulations 94 to 97 of 100
    intervals of 95 % held the true mean or correlation, of 10 to 1,000 items; of clusters
    90 to 98 held the mean score of such sets, mutual information being the lowest. Where
    all items score alike the interval has no width, however few they are.

    Parameters
    ----------
    resampled : Resampled
        Of :func:`resample`.
    level : float
        Above 0, below 1.

    Returns
    -------
    float, float
        Both ends. Replicates without a score are left out; where they are a larger share
        than ``1 - level``, they could hide a whole tail, and both ends are NaN.
    """
    low, high = _percentiles(resampled.replicates, level)
    if isinstance(resampled.sample, Contingency):
        # widened replicates may exceed what a measure can reach
        high = min(high, 1.0)
        low = low if resampled.sample.measure == "ari" else max(low, 0.0)
    return low, high


def paired(a: Resampled, b: Resampled) -> Difference:
    """Compare two runs on the same items.

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

    Parameters
    ----------
    a, b : Resampled
        Of :func:`resample` with the same counts.

    Returns
    -------
    Difference
        ``a`` less ``b``. Where the interval is undefined (see :func:`interval`) p is, too,
        unless it comes from flipping signs, and where all replicates differ by the same.
    """
    difference = a.score - b.score
    replicates = a.replicates - b.replicates
    low, high = _percentiles(replicates, _LEVEL)
    if isinstance(a.sample, Means) and isinstance(b.sample, Means):
        p = sign_flip(a.sample.values.astype(np.float64) - b.sample.values)
    elif difference == 0:
        p = 1.0
    elif math.isnan(low):
        p = math.nan
    else:
        p = _normal_p(difference, float(np.nanstd(replicates, ddof=1)))
    return Difference(difference, low, high, p)


def sign_flip(differences: np.ndarray) -> float:
    """Test whether the mean of paired differences is zero.

    Fisher 1935, "The Design of Experiments", section 21: were two runs equally good, each
    item might as well have favored the other, so every choice of signs is as likely as
    the one found. Where all differences that are not zero have one size, as those of
    right and wrong answers, p is exact (McNemar 1947, "Note on the sampling error of the
    difference between correlated proportions", by the binomial distribution). Else 9,999
    choices are drawn, always from the same stream, and p is the share of them, the one
    found included, whose sum is as far from zero (Phipson & Smyth 2010, "Permutation
    p-values should never be zero").

    Parameters
    ----------
    differences : float64 (n,)
        One run's value of each item less the other's.

    Returns
    -------
    float
        Two-sided p, above 0. That it is at most x has a chance of at most x: in
        simulations of 10 to 1,000 items it was 0.05 or less in 1 to 5 % of cases.

    Examples
    --------
    >>> sign_flip(np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]))
    0.0625
    """
    moved = differences[differences != 0]
    if len(moved) == 0:
        return 1.0
    sizes = np.sort(np.abs(moved))  # sorted, lest p depend on the order of the items
    if (sizes == sizes[0]).all():
        from scipy.special import bdtr

        fewer = min(int((moved > 0).sum()), int((moved < 0).sum()))
        return min(1.0, 2 * float(bdtr(fewer, len(moved), 0.5)))
    least = abs(moved.sum()) - _ROUNDING * sizes.sum()
    return (1 + _sums_beyond(sizes, least)) / (1 + _FLIPS)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Correct p-values for being many.

    Holm 1979, "A simple sequentially rejective multiple test procedure": the k-th smallest
    of m is multiplied by m + 1 - k, and none falls below a smaller one. To call a
    difference real where its corrected p is at most x keeps the chance of even one false
    call at x or less, however the comparisons depend on each other.

    Parameters
    ----------
    p : float (m,)
        Each between 0 and 1; NaN, where a comparison is undefined, is none of the m.

    Returns
    -------
    float64 (m,)
        Corrected, at most 1, in the order given; NaN stays.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    corrected = np.array(p, dtype=np.float64)
    order = np.argsort(corrected)[: np.count_nonzero(~np.isnan(corrected))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(corrected[order] * factors), 1.0)
    return corrected


def seed_spread(scores: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Give mean and standard deviation of scores that differ by the training's seed only.

    Parameters
    ----------
    scores : float (n,)
        One score a seed, at least one.

    Returns
    -------
    float, float
        The mean, and the deviation with n - 1 degrees of freedom: NaN for a single seed.

    Examples
    --------
    >>> seed_spread([1.0, 2.0, 3.0])
    (2.0, 1.0)
    """
    mean = float(np.mean(scores))
    return mean, float(np.std(scores, ddof=1)) if len(scores) > 1 else math.nan


def _percentiles(replicates: np.ndarray, level: float) -> tuple[float, float]:
    """The middle ``level`` of the replicates that are defined, if enough are."""
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < level * len(replicates):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def _normal_p(difference: float, deviation: float) -> float:
    """Two-sided p of a normal deviate; NaN where the replicates vary by rounding alone."""
    if deviation <= _ROUNDING * abs(difference):
        return math.nan
    return math.erfc(abs(difference) / deviation / math.sqrt(2))


def _sums_beyond(sizes: np.ndarray, least: float) -> int:
    """How many of the drawn choices of signs give a sum at least so far from zero."""
    generator = np.random.default_rng(0)
    step, beyond = max(1, _BLOCK // len(sizes)), 0
    for start in range(0, _FLIPS, step):
        shape = min(step, _FLIPS - start), len(sizes)
        bits = np.frombuffer(generator.bytes(-(-shape[0] * shape[1] // 8)), np.uint8)
        positive = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
        sums = 2 * (positive.astype(np.float64) @ sizes) - sizes.sum()
        beyond += int(np.count_nonzero(np.abs(sums) >= least))
    return beyond
