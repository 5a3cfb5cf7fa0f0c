"""Similarity: do the cosines of word pairs rank as people rank the pairs?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import set_name
from embed.compare.datasets.word_pairs import WordPair, read_pairs
from embed.compare.inputs.lookup import finite_units
from embed.compare.statistics.estimators import Correlation
from embed.compare.task import Measurement
from embed.compare.tasks.word_task import WordTask
from embed.protocols import StaticVectors

METRICS = {"spearman": True, "pearson": False}  # whether of ranks


@dataclass(frozen=True)
class SimilarityTask(WordTask):
    """A set of word pairs, scored by Spearman's and by Pearson's correlation.

    An item is a pair; it can be asked when both words have a vector. Spearman
    1904, "The proof and measurement of association between two things":
    Pearson's correlation of the ranks, of which equal values share the mean.
    """

    pairs: Sequence[WordPair]  # the set
    task = "similarity"

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SimilarityTask":
        """Read a set of pairs."""
        return cls(set_name(path), read_pairs(path))

    def items(self) -> Sequence[Sequence[str]]:
        """List the words of each pair."""
        return [(pair.a, pair.b) for pair in self.pairs]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Correlate cosines with judgments: ``spearman`` and ``pearson``."""
        asked = self._ask(vectors, items, unknown)
        judged = np.array([self.pairs[item].score for item in asked.items.tolist()])
        cosines = pair_cosines(vectors, asked.places.reshape(-1, 2), asked.composed)
        reason = why_undefined(judged, cosines)
        return [
            self._measured(asked, metric, Correlation(judged, cosines, ranked=ranked), reason)
            for metric, ranked in METRICS.items()
        ]


def pair_cosines(vectors: StaticVectors, pairs: np.ndarray, composed: Any = None) -> np.ndarray:
    """Compute the cosine of each pair of rows."""
    # pairs: int64 (P, 2); composed: float32 (n, D) or scipy.sparse CSR (n, D); returns float64
    # (P,)
    rows, places = np.unique(pairs, return_inverse=True)
    units: Any = finite_units(vectors, rows, composed)
    a, b = places.reshape(pairs.shape).T
    if isinstance(units, np.ndarray):
        return np.einsum("ij,ij->i", units[a], units[b])
    return np.asarray(units[a].multiply(units[b]).sum(axis=1), dtype=np.float64).ravel()


def why_undefined(judged: np.ndarray, cosines: np.ndarray) -> str | None:
    """Tell why two series have no correlation."""
    # judged, cosines: float64 (P,)
    if len(judged) < 2:
        return "no pair is known" if len(judged) == 0 else "only one pair is known"
    for name, values in (("judgments", judged), ("cosines", cosines)):
        if (values == values[0]).all():
            return f"all {name} are equal"
    return None
