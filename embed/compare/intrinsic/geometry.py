"""Geometry of one run's vectors (directions, hubs, lengths), and agreement of two runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.embed.compare.statistics.estimators import Counts, Means, Statistic, in_blocks
from firth.embed.vectors.search import unit_length

_DRAWS = 64  # draws converted to float64 at a time
_ROWS = 512  # rows of cosines held at a time
_DIGITS = 12  # decimals of cosines, so that parallel vectors of different length tie
_LEAST_SPREAD = 1e-4  # relative; unit vectors written with five digits vary less in length


@dataclass(frozen=True, eq=False)
class PairCosines(Statistic):
    """The mean cosine over all pairs of different words: 0 if directions are spread evenly.

    A measure of anisotropy (Ethayarajh 2019). Copies of one word in a replicate are not a pair.
    """

    units: Any  # float64 (n, D) or scipy.sparse CSR (n, D), unit length

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return mean cosines of pairs, from the squared lengths of vector sums."""
        return in_blocks(counts, self._mean_cosines, block=_DRAWS * self.n_items)

    def _mean_cosines(self, rows: np.ndarray) -> np.ndarray:
        """Return the mean cosines of some replicates."""
        sums, copies = np.asarray(rows @ self.units), (rows * rows).sum(axis=1)
        cosines = (sums * sums).sum(axis=1) - copies
        return np.asarray(cosines / (rows.sum(axis=1) ** 2 - copies))


@dataclass(frozen=True, eq=False)
class FunctionOfMeans(Statistic):
    """A score that is a function of the means of a few values per item."""

    values: np.ndarray  # float64 (n, m)
    score: Callable[..., np.ndarray]  # m arrays of means, float64 (B,) -> scores, float64 (B,)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return the scores of weighted means."""
        return self.score(*(Means(column).evaluate(counts) for column in self.values.T))


def partition_ratio(units: np.ndarray) -> FunctionOfMeans:
    """Return the least partition function divided by the largest: 1 if isotropic.

    Mu & Viswanath 2018, "All-but-the-top", with both signs of each eigenvector, as signs are
    arbitrary.
    """
    # units: float64 (n, D)
    along = units @ np.linalg.eigh(units.T @ units)[1]
    terms = np.exp(np.concatenate([along, -along], axis=1))
    sums = terms.sum(axis=0)
    return FunctionOfMeans(
        terms[:, [sums.argmin(), sums.argmax()]], lambda least, most: least / most
    )


def skewness(values: np.ndarray) -> FunctionOfMeans:
    """Return the skewness: third central moment over the cubed standard deviation."""
    # values: float or int (n,)
    values = np.asarray(values, dtype=np.float64) - np.mean(values)
    # the variance of equal values is rounding error of their sums
    least = len(values) * np.finfo(np.float64).eps

    def score(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        variance = second - first**2
        variance = np.where(variance > least * second, variance, np.nan)
        return np.asarray((third - 3 * first * second + 2 * first**3) / variance**1.5)

    return FunctionOfMeans(np.column_stack([values, values**2, values**3]), score)


def neighborhoods(units: Any, k: int) -> np.ndarray | None:
    """Return which k words are nearest to each word by cosine; None if all cosines are equal."""
    # units: float64 (n, D) or scipy.sparse CSR (n, D); returns bool (n, n)
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
    """Return whether all vectors have the same length, up to rounding in text files."""
    # lengths: float64 (n,)
    return bool(np.ptp(lengths) <= _LEAST_SPREAD * lengths.max())


def _largest(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the k largest entries of each row; ties go to the first."""
    last = scores.shape[1] - k
    least = np.partition(scores, last, axis=1)[:, last, None]
    above, tied = scores > least, scores == least
    missing = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= missing)))


def neighbor_overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of two runs' neighbors of each word (Antoniak & Mimno 2018)."""
    # a, b: bool (n, n); returns float64 (n,)
    return np.asarray((a & b).sum(axis=1) / (a | b).sum(axis=1))


def procrustes_distance(a: np.ndarray, b: np.ndarray) -> FunctionOfMeans:
    """Return the distance of two runs' vectors after optimal orthogonal alignment.

    Schoenemann 1966: |A Q - B| / |B| in the Frobenius norm with the best rotation Q, 0 if rotation
    makes them equal, sqrt(2) if it does not help; sqrt(2 - 2 c) for a mean cosine c of a word's two
    vectors. Vectors are centered, else two clouds of noise around different means would look
    similar.
    """
    # a, b: float64 (n, D) and (n, E)
    a, b = (unit_length(each - each.mean(axis=0)) for each in (a, b))
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    # no zero padding needed: missing dimensions add nothing to the products
    cosines = np.einsum("ij,ij->i", a @ left, b @ right.T)
    return FunctionOfMeans(cosines[:, None], lambda mean: np.sqrt(np.maximum(2 - 2 * mean, 0)))
