"""Bootstrap replicates of scores over items, and their percentile intervals.

All runs share the same draws: a draw that is easy for one run is easy for the others, so
differences vary less than scores do. Replicates cover the choice of items, and the starts of a
clustering; the variance over training seeds comes from :func:`average_over_seeds`.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.embed.compare.statistics.estimators import (
    BLOCK,
    Contingency,
    Counts,
    Means,
    SeedMean,
    Statistic,
    UnitCounts,
)

_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Resampled:
    """A statistic's score and replicates, computed once for all comparisons it is part of."""

    statistic: Statistic  # what was scored
    score: float  # every item counted once; NaN where undefined
    replicates: np.ndarray  # float64 (B,): the score in each draw of items; NaN where undefined
    # standard deviation over seeds if the score is a mean over several seeds
    deviation: float | None = None
    n_seeds: int = 1
    sharing: "Sharing | None" = None  # for items that are drawn, but share words


@dataclass(frozen=True, eq=False)
class Sharing:
    """How items of two words depend on each other through the words that they share."""

    words: np.ndarray  # int64 (n_items, 2): the words of each item
    # float64 (n_items,): how much the score falls without each item, with mean zero
    influences: np.ndarray

    @classmethod
    def of(cls, statistic: Statistic, words: np.ndarray) -> "Sharing":
        """Leave out one item after the other."""
        n_items = len(words)
        step = max(1, BLOCK // n_items)
        without = np.concatenate(
            [
                statistic.evaluate(1 - np.eye(min(step, n_items - start), n_items, start, np.uint8))
                for start in range(0, n_items, step)
            ]
        )
        return cls(words, without.mean() - without)

    def inflation(self) -> float:
        """Return the variance with shared words over that of independent items, at least 1.

        Dyadic cluster-robust variance (Fafchamps & Gubert 2007; Aronow, Samii & Assenova 2015). NaN
        influences, of scores that an item decides, give 1.
        """
        a, b = self.words.T
        n_words = int(self.words.max()) + 1
        b = np.where(a == b, n_words + np.arange(len(b)), b)  # a word beside itself counts once
        _, pairs = np.unique(np.sort(np.stack([a, b]), axis=0), axis=1, return_inverse=True)
        by_word = np.bincount(np.r_[a, b], np.r_[self.influences, self.influences])
        # what shares both words is in the sums of both
        by_pair = np.bincount(pairs.ravel(), self.influences)
        independent = self.influences @ self.influences
        variance = by_word @ by_word - by_pair @ by_pair
        return max(1.0, float(variance / independent)) if independent > 0 else 1.0


def draw_counts(
    n_items: int, replicates: int, seed: int, name: str, units: np.ndarray | None = None
) -> Counts:
    """Draw bootstrap counts, ``replicates`` times n_items items with replacement.

    Units that items share are drawn instead, and an item counts as often as the product of its
    units (Arcones & Gine 1992): 30 word pairs make 870 questions, but only 30 observations.
    """
    # units: int64 (n_items, k); returns uint8 (B, n_items) or UnitCounts
    generator = np.random.default_rng([seed, key_of(name)])
    if units is None:
        return _draw(n_items, replicates, generator)
    distinct, members = np.unique(units, return_inverse=True)
    return UnitCounts(_draw(len(distinct), replicates, generator), members.reshape(n_items, -1))


def key_of(name: str) -> int:
    """Return the number of 128 bits that stands for a name in keys of random streams."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest, "little")


def _draw(n_items: int, replicates: int, generator: np.random.Generator) -> np.ndarray:
    """Return counts of draws with replacement, uint8 (replicates, n_items)."""
    counts = np.empty((replicates, n_items), np.uint8)
    for row in counts:
        row[:] = np.bincount(generator.integers(n_items, size=n_items), minlength=n_items)
    return counts


def resample(statistic: Statistic, counts: Counts, words: np.ndarray | None = None) -> Resampled:
    """Evaluate a statistic on all items and on every draw.

    Items of two ``words`` are drawn as if independent; :meth:`Sharing.inflation` widens the
    replicates where they are used. Copies of one item always agree in a clustering, which raises
    every replicate: clusterings are scored on the distinct items of each draw, a share f of all,
    with deviations scaled by sqrt(f / (1 - f)) around the score (delete-d jackknife: Shao & Wu
    1989), plus those of their random starts.
    """
    # counts: int (B, n_items) or UnitCounts; words: int64 (n_items, 2)
    n_items = statistic.n_items
    [score] = statistic.evaluate(np.ones((1, n_items), np.uint8)).tolist()
    n_drawn = counts.drawn.shape[1] if isinstance(counts, UnitCounts) else n_items
    if n_drawn == 1:
        return Resampled(statistic, score, np.full(len(counts), np.nan))
    if not isinstance(statistic, Contingency):
        sharing = None if words is None else Sharing.of(statistic, words)
        return Resampled(statistic, score, statistic.evaluate(counts), sharing=sharing)
    replicates = statistic.evaluate((counts[:] > 0).astype(np.uint8))
    left_out = (1 - 1 / n_items) ** n_items
    scale = math.sqrt((1 - left_out) / left_out)
    by_items = scale * (replicates - replicates.mean())
    return Resampled(statistic, score, score + by_items + _by_starts(statistic.once(), len(counts)))


def _by_starts(scores: np.ndarray, replicates: int) -> np.ndarray:
    """Draw S clusterings with replacement; return the deviations of their means, unbiased."""
    # scores: float64 (S,); returns float64 (replicates,)
    n_starts = len(scores)
    if n_starts == 1:
        return np.zeros(replicates)
    drawn = np.random.default_rng(n_starts).integers(n_starts, size=(replicates, n_starts))
    means = scores[drawn].mean(axis=1)
    return math.sqrt(n_starts / (n_starts - 1)) * (means - means.mean())


def interval(resampled: Resampled) -> tuple[float, float]:
    """Return the 95 % percentile interval of a score (Efron & Tibshirani 1993, chapter 13).

    In simulations with 10 to 1,000 items, 94 to 97 % of 95 % intervals contained the true mean or
    correlation, of clusterings 86 to 95 %. If all items score the same, the interval has no width.
    """
    low, high = percentiles(widen(resampled.replicates, resampled.sharing))
    statistic = resampled.statistic
    one = statistic.statistics[0] if isinstance(statistic, SeedMean) else statistic
    if isinstance(one, Contingency):  # scaled replicates may leave the measure's range
        high = min(high, 1.0)
        low = low if one.measure == "ari" else max(low, 0.0)
    if resampled.sharing is not None:
        low, high = (float(np.clip(end, -1.0, 1.0)) for end in (low, high))
    return low, high


def widen(replicates: np.ndarray, sharing: Sharing | None) -> np.ndarray:
    """Return replicates with the variance that items which share words have."""
    # replicates: float64 (B,)
    inflation = 1.0 if sharing is None else sharing.inflation()
    if inflation == 1:
        return replicates
    mean = np.nanmean(replicates)
    return np.asarray(mean + math.sqrt(inflation) * (replicates - mean))


def average_over_seeds(resampled: Sequence[Resampled]) -> Resampled:
    """Average runs of one method that differ only in the seed."""
    statistics = [each.statistic for each in resampled]
    values = [statistic.values for statistic in statistics if isinstance(statistic, Means)]
    combined: Statistic = SeedMean(tuple(statistics))
    if len(values) == len(statistics):  # keep one value per item, which sign flips need
        combined = Means(np.asarray(np.mean(values, axis=0, dtype=np.float64)))
    scores = [each.score for each in resampled]
    sharing = [each.sharing for each in resampled if each.sharing is not None]
    influences = np.mean([each.influences for each in sharing], axis=0) if sharing else None
    return Resampled(
        combined,
        float(np.mean(scores)),
        np.mean([each.replicates for each in resampled], axis=0),
        float(np.std(scores, ddof=1)),
        len(scores),
        None if influences is None else Sharing(sharing[0].words, influences),
    )


def percentiles(replicates: np.ndarray) -> tuple[float, float]:
    """Return the ends of the middle 95 % of the replicates; NaN if fewer are defined."""
    # replicates: float64 (B,)
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < _LEVEL * len(replicates):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return low, high
