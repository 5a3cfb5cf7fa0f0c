"""How far two lists of words differ in what they are associated with: effect size and chance."""

import hashlib
import itertools
import math
from dataclasses import dataclass

import numpy as np

from embed.compare.statistics.estimators import Counts, Statistic, in_blocks

X, Y, A, B = range(4)  # targets, attributes
_EXACT = 20_000  # partitions that are all counted; more are drawn
_DRAWS = 9_999
_BLOCK = 1 << 19  # values shuffled at a time
_ROUNDING = 1e-12  # what adding cosines in another order may change


@dataclass(frozen=True, eq=False)
class EffectSize(Statistic):
    """The difference of two lists of target words in their association with attributes.

    Caliskan, Bryson and Narayanan 2017, "Semantics derived automatically from language corpora
    contain human-like biases", Science 356, supplement. A target word's association is its mean
    cosine with the words of A less that with the words of B; the effect size is the mean
    association of X less that of Y over the standard deviation, n - 1, of both together. It is
    not beyond 2 where X and Y are equally many.

    Items are the words of all four lists, so that a draw draws attributes, too: one list of
    pleasant words is as much a choice as one list of flowers. A draw's lists may differ in their
    numbers of words; where one is empty the score is undefined.
    """

    # float64 (n_targets, n_attributes): of target words, those of X and Y in the order of
    # ``lists``, with attribute words
    cosines: np.ndarray
    lists: np.ndarray  # int8 (n,): the list of each item: X, Y, A or B

    @property
    def n_items(self) -> int:
        """Number of words in all lists."""
        return len(self.lists)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Compute the effect size; NaN where a list is empty or all targets are associated alike.

        NaN in every replicate where a list has fewer than two items.
        """
        if np.bincount(self.lists, minlength=4).min() < 2:
            return np.full(len(counts), np.nan)
        return in_blocks(counts, self._of_blocks)

    def take(self, chosen: np.ndarray) -> "EffectSize":
        """Give some of the items."""
        targets = self.lists < A
        cosines = self.cosines[chosen[targets]][:, chosen[~targets]]
        return EffectSize(cosines, self.lists[chosen])

    def associations(self, counts: np.ndarray) -> np.ndarray:
        """Compute the association of each target word."""
        # counts: float64 (B, n_items); returns float64 (B, n_targets)
        attributes = self.lists[self.lists >= A]
        a, b = (
            counts[:, self.lists == each]
            @ self.cosines[:, attributes == each].T
            / counts[:, self.lists == each].sum(axis=1, keepdims=True)
            for each in (A, B)
        )
        return np.asarray(a - b)

    def _of_blocks(self, rows: np.ndarray) -> np.ndarray:
        """Effect sizes of some replicates."""
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
    """Tell how often chance gives X associations as high as it has.

    Caliskan et al. 2017: were X and Y of one kind, any division of their words into lists of
    these sizes would be as likely as the one found. One-sided: the share of divisions whose sum
    over X is at least as high, so that a p near 1 says that Y is the one nearer to A. All of up
    to 20,000 divisions are counted (eight words against eight are 12,870); of more, 9,999 are
    drawn and the one found is added (Phipson & Smyth 2010, "Permutation p-values should never be
    zero"), so that p is 0.0001 or more.
    """
    # x, y: float64 (n,), (m,)
    every = np.sort(np.concatenate([x, y]))
    least = x.sum() - _ROUNDING * len(every)
    if math.comb(len(every), len(x)) <= _EXACT:
        sums = every[np.array(list(itertools.combinations(range(len(every)), len(x))))].sum(axis=1)
        return float((sums >= least).mean())
    return (1 + _as_high(every, len(x), least, key)) / (1 + _DRAWS)


def _as_high(every: np.ndarray, n_x: int, least: float, key: str) -> int:
    """How many of the drawn divisions have so high a sum."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    generator = np.random.default_rng(int.from_bytes(digest, "little"))
    step, found = max(1, _BLOCK // len(every)), 0
    for start in range(0, _DRAWS, step):
        rows = np.tile(every, (min(step, _DRAWS - start), 1))
        sums = generator.permuted(rows, axis=1)[:, :n_x].sum(axis=1)
        found += int((sums >= least).sum())
    return found
