"""Similarity: how well cosines of word pairs correlate with human judgments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.word_pairs import (
    WordPair,
    looks_like_pairs,
    pairs_name,
    read_pairs,
)
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.statistics.estimators import Correlation
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.protocols import StaticVectors

CORRELATIONS = {
    "spearman": "rank correlation of cosines and human ratings; 1 if they order all pairs alike",
    "pearson": "linear correlation of cosines and human ratings",
}
DIGITS = 12  # so that cosines of a word with itself tie despite rounding
METRICS = {"spearman": True, "pearson": False}  # name to whether values are ranked


@dataclass(frozen=True)
class SimilarityTask(WordTask):
    """Word pairs, scored by correlations of cosines and judgments."""

    pairs: Sequence[WordPair]  # the set
    key = "similarity"
    skill = "similarity of words"
    looks = staticmethod(looks_like_pairs)
    metrics = CORRELATIONS

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SimilarityTask":
        """Read a set of word pairs."""
        return cls(pairs_name(path), read_pairs(path))

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each pair."""
        return [(pair.a, pair.b) for pair in self.pairs]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Correlate cosines with judgments: ``spearman`` and ``pearson``."""
        found = self._look_up(vectors, items, unknown)
        judged = np.array([self.pairs[item].score for item in found.items.tolist()])
        cosines = pair_cosines(vectors, found.places.reshape(-1, 2), found.composed)
        reason = why_undefined(judged, cosines)
        words = self._word_numbers()[found.items]
        return [
            self._measurement(
                metric,
                found.items,
                Correlation(judged, cosines, ranked=ranked),
                reason,
                words=words,
                **found.counts,
            )
            for metric, ranked in METRICS.items()
        ]


def pair_cosines(vectors: StaticVectors, pairs: np.ndarray, composed: Any = None) -> np.ndarray:
    """Return the cosine of each pair of rows, 0 if a vector is zero."""
    # pairs: int64 (P, 2), where V + i is row i of composed; composed: float32 (n, D), dense or CSR
    rows, places = np.unique(pairs, return_inverse=True)
    units: Any = finite_units(vectors, rows, composed)
    a, b = places.reshape(pairs.shape).T
    if isinstance(units, np.ndarray):
        return np.einsum("ij,ij->i", units[a], units[b]).round(DIGITS)
    products = units[a].multiply(units[b])
    return np.asarray(products.sum(axis=1), dtype=np.float64).ravel().round(DIGITS)


def why_undefined(
    judged: np.ndarray, values: np.ndarray, item: str = "pair", what: str = "cosines"
) -> str | None:
    """Return why two series have no correlation, or None if they have one."""
    # judged, values: float64 (P,)
    if len(judged) < 2:
        return f"{'only one' if len(judged) else 'no'} {item} is known"
    for name, series in (("judgments", judged), (what, values)):
        if (series == series[0]).all():
            return f"all {name} are equal"
    return None
