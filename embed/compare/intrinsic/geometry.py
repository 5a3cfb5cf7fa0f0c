"""How one run's vectors lie in their space: directions, hubs, lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from embed.compare.statistics.estimators import Counts, Means

_DRAWS = 64  # held as float64 at a time
_ROWS = 512  # of cosines held at a time
_DIGITS = 12  # parallel vectors of unlike length tie
_LEAST_SPREAD = 1e-4  # of lengths, relative: unit vectors written with five digits vary by less


@dataclass(frozen=True, eq=False)
class PairCosines:
    """The mean cosine of two different words, over all pairs.

    Ethayarajh 2019, "How contextual are contextualized word representations?", takes it, over
    words drawn at random, as what all vectors have in common: 0 where they point in all directions
    alike. In a replicate, copies of one word are no pair: their cosine is 1 whatever the vectors.
    """

    units: Any  # float64 (n, D) or scipy.sparse CSR (n, D): one vector a word, of unit length

    @property
    def n_items(self) -> int:
        """Number of words."""
        return int(self.units.shape[0])

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Average the cosines of pairs, by the squared length of sums of vectors."""
        # counts: int (B, n_items); returns float64 (B,)
        scores = np.empty(len(counts))
        for start in range(0, len(counts), _DRAWS):
            rows = counts[start : start + _DRAWS].astype(np.float64)
            sums, copies = np.asarray(rows @ self.units), (rows * rows).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                cosines = (sums * sums).sum(axis=1) - copies
                scores[start : start + _DRAWS] = cosines / (rows.sum(axis=1) ** 2 - copies)
        return scores

    def take(self, chosen: np.ndarray) -> "PairCosines":
        """Return the statistic restricted to the given words."""
        # chosen: bool (n_items,)
        return PairCosines(self.units[chosen])


@dataclass(frozen=True, eq=False)
class OfMeans:
    """A score that the means of a few values per item determine."""

    values: np.ndarray  # float64 (n, m): of each item
    score: Callable[..., np.ndarray]  # takes m means, float64 (B,) each, and gives the scores (B,)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.values)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Score the means, weighted."""
        # counts: int (B, n_items); returns float64 (B,)
        return self.score(*(Means(column).evaluate(counts) for column in self.values.T))

    def take(self, chosen: np.ndarray) -> "OfMeans":
        """Return the statistic restricted to the given items."""
        # chosen: bool (n_items,)
        return OfMeans(self.values[chosen], self.score)


def partition_ratio(units: np.ndarray) -> OfMeans:
    """Divide the least partition function by the largest: 1 where no direction is favored.

    Mu & Viswanath 2018, "All-but-the-top": I = min Z(c) / max Z(c), where Z(c) is the sum over all
    words of exp(c . v) and c goes over the eigenvectors of V^T V. With c, also -c is one, and which
    of them a library returns is its own choice; so both are tried.
    """
    # units: float64 (n, D)
    along = units @ np.linalg.eigh(units.T @ units)[1]
    terms = np.exp(np.concatenate([along, -along], axis=1))
    sums = terms.sum(axis=0)
    return OfMeans(terms[:, [sums.argmin(), sums.argmax()]], lambda least, most: least / most)


def skewness(values: np.ndarray) -> OfMeans:
    """Compute the third moment about the mean over the cube of the standard deviation."""
    # values: float or int (n,)
    values = np.asarray(values, dtype=np.float64) - np.mean(values)
    # equal values leave no more than the rounding of their sums
    least = len(values) * np.finfo(np.float64).eps

    def score(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        variance = second - first**2
        variance = np.where(variance > least * second, variance, np.nan)
        return np.asarray((third - 3 * first * second + 2 * first**3) / variance**1.5)

    return OfMeans(np.column_stack([values, values**2, values**3]), score)


def neighborhoods(units: Any, k: int) -> np.ndarray | None:
    """Find the k words most like each word by cosine, itself left out."""
    # units: float64 (n, D) or scipy.sparse CSR (n, D); returns bool (n, n) or None
    n_words = units.shape[0]
    near = np.zeros((n_words, n_words), dtype=bool)
    lowest, highest = np.inf, -np.inf
    for start in range(0, n_words, _ROWS):
        products = units[start : start + _ROWS] @ units.T
        cosines = products if isinstance(products, np.ndarray) else products.toarray()
        cosines = cosines.round(_DIGITS)
        own = np.arange(len(cosines)), np.arange(start, start + len(cosines))
        cosines[own] = np.inf
        lowest = min(lowest, cosines.min())
        cosines[own] = -np.inf
        highest = max(highest, cosines.max())
        near[start : start + _ROWS] = _largest(cosines, k)
    return near if lowest < highest else None


def same_length(lengths: np.ndarray) -> bool:
    """Tell whether vectors were scaled to one length."""
    # lengths: float64 (n,)
    return bool(np.ptp(lengths) <= _LEAST_SPREAD * lengths.max())


def _largest(scores: np.ndarray, k: int) -> np.ndarray:
    """The k largest entries of each row, of equal ones the first."""
    last = scores.shape[1] - k
    least = np.partition(scores, last, axis=1)[:, last, None]
    above, tied = scores > least, scores == least
    missing = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= missing)))
