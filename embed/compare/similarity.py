"""Similarity: do the cosines of word pairs rank as people rank the pairs?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets import WordPair, read_pairs
from embed.compare.tasks import TaskResult, find_words, finite_units
from embed.protocols import StaticVectors


@dataclass(frozen=True)
class SimilarityTask:
    """A set of word pairs, scored by Spearman's rank correlation.

    Pairs with an unknown word are left out and counted; a word whose vector is
    composed of n-grams is known, and pairs with such a word are counted, too.

    Attributes
    ----------
    dataset : str
        Stem of the set's file.
    pairs : sequence of WordPair
        The set.
    """

    dataset: str
    pairs: Sequence[WordPair]

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SimilarityTask":
        """Read a set of pairs.

        Parameters
        ----------
        path : Path
            The file; see :func:`~embed.compare.datasets.read_pairs`.
        config : CompareConfig
            None of its options matters here.

        Returns
        -------
        SimilarityTask
            Ready to score.
        """
        return cls(path.stem, read_pairs(path))

    def texts(self) -> Iterable[str]:
        """List the words of all pairs as the file writes them."""
        return [text for pair in self.pairs for text in (pair.a, pair.b)]

    def score(self, vectors: StaticVectors) -> list[TaskResult]:
        """Correlate cosines with the judgements of the known pairs.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse.

        Returns
        -------
        list of TaskResult
            One, of metric ``spearman``.
        """
        found = find_words(vectors, self.texts())
        rows = found.rows
        pairs = np.array([(rows[pair.a], rows[pair.b]) for pair in self.pairs], dtype=np.int64)
        known = (pairs >= 0).all(axis=1)
        judged = np.array([pair.score for pair in self.pairs])[known]
        score, reason = spearman(judged, pair_cosines(vectors, pairs[known], found.composed))
        composed = (pairs[known] >= len(vectors.vocabulary)).any(axis=1)
        return [
            TaskResult(
                task="similarity",
                dataset=self.dataset,
                metric="spearman",
                score=score,
                items_used=len(judged),
                items_total=len(self.pairs),
                reason=reason,
                items_composed=int(composed.sum()),
            )
        ]


def pair_cosines(vectors: StaticVectors, pairs: np.ndarray, composed: Any = None) -> np.ndarray:
    """Compute the cosine of each pair of rows.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    pairs : int64 (P, 2)
        Rows; V + i is row i of ``composed``.
    composed : float32 (n, D) or scipy.sparse CSR (n, D), optional
        Vectors of words that have no row.

    Returns
    -------
    float64 (P,)
        0 where a vector is zero.
    """
    rows, places = np.unique(pairs, return_inverse=True)
    units: Any = finite_units(vectors, rows, composed)
    a, b = places.reshape(pairs.shape).T
    if isinstance(units, np.ndarray):
        return np.einsum("ij,ij->i", units[a], units[b])
    return np.asarray(units[a].multiply(units[b]).sum(axis=1), dtype=np.float64).ravel()


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float | None, str | None]:
    """Correlate the ranks of two series, equal values sharing their mean rank.

    Spearman 1904, "The proof and measurement of association between two
    things"; with ties it is Pearson's correlation of the mean ranks.

    Parameters
    ----------
    x, y : float64 (P,)
        Judgements and cosines.

    Returns
    -------
    float or None
        Between -1 and 1; None where it is undefined.
    str or None
        Why it is undefined.

    Examples
    --------
    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.1, 0.9]))
    (0.5, None)
    """
    if len(x) < 2:
        return None, "no pair is known" if len(x) == 0 else "only one pair is known"
    for name, values in (("judgements", x), ("cosines", y)):
        if (values == values[0]).all():
            return None, f"all {name} are equal"
    from scipy.stats import rankdata

    a, b = (ranks - ranks.mean() for ranks in (rankdata(x), rankdata(y)))
    return float(a @ b / np.sqrt((a @ a) * (b @ b))), None
