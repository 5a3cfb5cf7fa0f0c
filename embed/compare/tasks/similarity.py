"""Similarity: do the cosines of word pairs rank as people rank the pairs?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import set_name
from embed.compare.datasets.word_pairs import WordPair, read_pairs
from embed.compare.inputs.lookup import FoundWords, find_words, finite_units, has_zero
from embed.compare.statistics.estimators import Correlation
from embed.compare.task import Measured
from embed.protocols import StaticVectors

METRICS = {"spearman": True, "pearson": False}  # whether of ranks


@dataclass(frozen=True)
class SimilarityTask:
    """A set of word pairs, scored by Spearman's and by Pearson's correlation.

    An item is a pair; it can be asked when both words have a vector. Spearman
    1904, "The proof and measurement of association between two things":
    Pearson's correlation of the ranks, of which equal values share the mean.

    Attributes
    ----------
    dataset : str
        Name of the set.
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
            The file; see :func:`~embed.compare.datasets.word_pairs.read_pairs`.
        config : CompareConfig
            None of its options matters here.

        Returns
        -------
        SimilarityTask
            Ready to score.
        """
        return cls(set_name(path), read_pairs(path))

    @property
    def n_items(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    def texts(self) -> Iterable[str]:
        """List the words of all pairs as the file writes them."""
        return [text for pair in self.pairs for text in (pair.a, pair.b)]

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each pair.

        Returns
        -------
        iterable of sequence of str
            As the file writes them.
        """
        return [(pair.a, pair.b) for pair in self.pairs]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the pairs of which both words have a vector, or something in its place.

        Parameters
        ----------
        vectors : StaticVectors
            What to look in.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        bool (n_items,)
            True for each such pair.
        """
        return np.all(self._places(self._find(vectors, unknown)) >= 0, axis=1)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measured]:
        """Correlate cosines with judgements.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse.
        items : bool (n_items,)
            The pairs to take, all of them known.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        list of Measured
            Metrics ``spearman`` and ``pearson``.

        Raises
        ------
        ArtifactError
            A vector holds NaN or infinity.
        """
        found = self._find(vectors, unknown)
        asked = np.flatnonzero(items)
        places = self._places(found)[asked]
        judged = np.array([self.pairs[item].score for item in asked.tolist()])
        cosines = pair_cosines(vectors, places, found.composed)
        reason = why_undefined(judged, cosines)
        return [
            Measured(
                task="similarity",
                dataset=self.dataset,
                metric=metric,
                items=asked,
                items_total=len(self.pairs),
                sample=Correlation(judged, cosines, ranked=ranked) if reason is None else None,
                reason=reason,
                items_composed=int(found.has_composed(places).sum()),
                items_zero=int(has_zero(vectors, places).sum()),
            )
            for metric, ranked in METRICS.items()
        ]

    def _find(self, vectors: StaticVectors, unknown: str) -> FoundWords:
        """The words of the set as the vectors know them."""
        return find_words(vectors, self.texts(), unknown)

    def _places(self, found: FoundWords) -> np.ndarray:
        """Where the two words of each pair stand, int64 (P, 2)."""
        return found.places(self.texts()).reshape(-1, 2)


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


def why_undefined(judged: np.ndarray, cosines: np.ndarray) -> str | None:
    """Tell why two series have no correlation.

    Parameters
    ----------
    judged, cosines : float64 (P,)
        Judgements and cosines.

    Returns
    -------
    str or None
        None where they have one.

    Examples
    --------
    >>> why_undefined(np.array([1.0, 2.0]), np.array([0.5, 0.5]))
    'all cosines are equal'
    """
    if len(judged) < 2:
        return "no pair is known" if len(judged) == 0 else "only one pair is known"
    for name, values in (("judgements", judged), ("cosines", cosines)):
        if (values == values[0]).all():
            return f"all {name} are equal"
    return None
