"""Categorization: how well clusters of vectors match human categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Literal

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.categories import (
    CategoryWord,
    looks_like_categories,
    read_categories,
)
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.statistics.bootstrap import key_of
from firth.embed.compare.statistics.estimators import Contingency
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.protocols import StaticVectors

METRICS: tuple[Literal["purity", "nmi", "ari"], ...] = ("purity", "nmi", "ari")
STARTS = 10  # clusterings that a score is the mean of
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class CategorizationTask(WordTask):
    """Words with categories, scored by how well k-means recovers these from ten starts."""

    words: Sequence[CategoryWord]  # the set
    seed: int = 1  # of the starts
    key = "categorization"
    skill = "categories of words"
    looks = staticmethod(looks_like_categories)
    metrics: ClassVar = {
        "purity": "share of words that are in the most frequent category of their cluster",
        "nmi": "normalized mutual information of clusters and categories; 1 if they are the same",
        "ari": "share of word pairs that both put together or apart, adjusted for chance: 0",
    }

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "CategorizationTask":
        """Read a set of words and categories."""
        return cls(set_name(path), read_categories(path), config.seed)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words, one per item."""
        return [(word.word,) for word in self.words]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Cluster the words, and compare clusters and categories by METRICS."""
        found = self._look_up(vectors, items, unknown)
        categories = np.array([self.words[item].category for item in found.items.tolist()])
        names, classes = np.unique(categories, return_inverse=True)
        units = finite_units(vectors, found.places[:, 0], found.composed)
        reason = _why_undefined(len(found.items), len(names))
        clusters = None
        if reason is None:
            clusters = cluster_words(units, len(names), [self.seed, key_of(self.dataset)])
        return [
            self._measurement(
                metric,
                found.items,
                None if clusters is None else Contingency(classes, clusters, metric),
                reason,
                **found.counts,
            )
            for metric in METRICS
        ]


def cluster_words(
    units: Any, n_clusters: int, key: Sequence[int], starts: int = STARTS
) -> np.ndarray:
    """Cluster unit vectors by k-means from keyed k-means++ starts; return every clustering."""
    # units: float64 (n, D), dense or CSR; returns int64 (starts, n)
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    if not isinstance(units, np.ndarray):
        if not units.nnz:  # all vectors are zero
            return np.zeros((starts, units.shape[0]), dtype=np.int64)
        units = units[:, np.unique(units.indices)].sorted_indices()  # means are dense
    states = [np.random.RandomState(np.random.MT19937([*key, start])) for start in range(starts)]
    # one thread: the order of sums varies with threads, which can move a word to another cluster;
    # locked, since thread limits and warning filters are global to the process
    with _ONE_AT_A_TIME, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
        models = [KMeans(n_clusters, n_init=1, random_state=state) for state in states]
        return np.array([model.fit_predict(units) for model in models], dtype=np.int64)


def _why_undefined(n_words: int, n_categories: int) -> str | None:
    """Return why there is nothing to cluster, or None."""
    if n_words == 0:
        return "no word is known"
    if n_categories == 1:
        return "all known words have the same category"
    if n_categories == n_words:
        return "no two known words share a category"
    return None
