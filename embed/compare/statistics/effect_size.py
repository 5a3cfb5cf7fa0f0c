"""Effect size and permutation test of word association tests (WEAT)."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from firth.embed.compare.statistics.bootstrap import key_of
from firth.embed.compare.statistics.estimators import Counts, Statistic, in_blocks

X, Y, A, B = range(4)  # targets, attributes
_EXACT = 20_000  # enumerate up to this many partitions; sample beyond
_DRAWS = 9_999
_BLOCK = 1 << 19  # values shuffled at a time
_ROUNDING = 1e-12  # error of summing cosines in another order


@dataclass(frozen=True, eq=False)
class EffectSize(Statistic):
    """The difference of two target lists in their association with attribute words.

    Caliskan, Bryson and Narayanan 2017, Science 356, supplement: a target word's association is its
    mean cosine with A minus that with B; the score is the mean association of X minus that of Y,
    over the standard deviation (n - 1) of both. Items are the words of all four lists, so
    attributes are drawn too.
    """

    # float64 (n_targets, n_attributes): rows are the words of X and Y in the order of ``lists``
    cosines: np.ndarray
    lists: np.ndarray  # int8 (n,): the list of each item: X, Y, A or B

    @property
    def n_items(self) -> int:
        """Number of words in all lists."""
        return len(self.lists)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return effect sizes; NaN if a list has fewer than two words, or all are equal."""
        if np.bincount(self.lists, minlength=4).min() < 2:
            return np.full(len(counts), np.nan)
        return in_blocks(counts, self._effect_sizes)

    def take(self, chosen: np.ndarray) -> Self:
        """Return the statistic restricted to the chosen items."""
        targets = self.lists < A
        cosines = self.cosines[chosen[targets]][:, chosen[~targets]]
        return replace(self, cosines=cosines, lists=self.lists[chosen])

    def associations(self, counts: np.ndarray) -> np.ndarray:
        """Return the association of each target word."""
        # counts: float64 (B, n_items); returns float64 (B, n_targets)
        attributes = self.lists[self.lists >= A]
        to_a, to_b = (
            counts[:, self.lists == each]
            @ self.cosines[:, attributes == each].T
            / counts[:, self.lists == each].sum(axis=1, keepdims=True)
            for each in (A, B)
        )
        return np.asarray(to_a - to_b)

    def _effect_sizes(self, rows: np.ndarray) -> np.ndarray:
        """Return the effect sizes of some replicates."""
        found = self.associations(rows)
        counts, lists = rows[:, self.lists < A], self.lists[self.lists < A]
        x, y = (
            (found * counts)[:, lists == each].sum(axis=1) / counts[:, lists == each].sum(axis=1)
            for each in (X, Y)
        )
        size = counts.sum(axis=1)
        mean = (found * counts).sum(axis=1) / size
        squares = ((found - mean[:, None]) ** 2 * counts).sum(axis=1)
        deviation = np.sqrt(squares / (size - 1))
        return np.where(deviation > _ROUNDING, (x - y) / deviation, np.nan)


def permutation_p(x: np.ndarray, y: np.ndarray, key: str) -> float:
    """Return the one-sided permutation p-value of the associations of X against those of Y.

    Caliskan et al. 2017: the share of partitions of both lists whose sum over X is at least the
    observed one. Up to 20,000 partitions are enumerated; beyond that 9,999 are sampled and the
    observed one is added (Phipson & Smyth 2010).
    """
    # x, y: float64 (n,), (m,)
    pooled = np.sort(np.concatenate([x, y]))
    least = x.sum() - _ROUNDING * len(pooled)
    if math.comb(len(pooled), len(x)) <= _EXACT:
        chosen = np.array(list(itertools.combinations(range(len(pooled)), len(x))))
        return float((pooled[chosen].sum(axis=1) >= least).mean())
    return (1 + _count_as_high(pooled, len(x), least, key)) / (1 + _DRAWS)


def _count_as_high(pooled: np.ndarray, n_x: int, least: float, key: str) -> int:
    """Count the sampled partitions whose sum over X is at least ``least``."""
    generator = np.random.default_rng(key_of(key))
    step, found = max(1, _BLOCK // len(pooled)), 0
    for start in range(0, _DRAWS, step):
        rows = np.tile(pooled, (min(step, _DRAWS - start), 1))
        sums = generator.permuted(rows, axis=1)[:, :n_x].sum(axis=1)
        found += int((sums >= least).sum())
    return found
