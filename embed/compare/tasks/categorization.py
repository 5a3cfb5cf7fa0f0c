"""Categorization: do clusters of the vectors agree with the categories of people?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.categories import CategoryWord, read_categories
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import finite_units
from embed.compare.statistics.estimators import Contingency
from embed.compare.task import Measurement
from embed.compare.tasks.word_task import WordTask
from embed.protocols import StaticVectors

METRICS: tuple[Literal["purity", "nmi", "ari"], ...] = ("purity", "nmi", "ari")
_STARTS = 10  # the one of least inertia counts: chosen without a look at the categories
_SEED = 8
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class CategorizationTask(WordTask):
    """Words of known categories, scored by how well k-means finds these.

    An item is a word; it can be asked when it has a vector. As many clusters
    are made as there are categories among the words asked, once, with settings
    that do not depend on the categories; purity, normalised mutual information
    and the adjusted Rand index all measure the same clusters.
    """

    words: Sequence[CategoryWord]  # the set
    task = "categorization"

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "CategorizationTask":
        """Read a set of words and categories."""
        return cls(set_name(path), read_categories(path))

    def items(self) -> Sequence[Sequence[str]]:
        """List the words, each by itself."""
        return [(word.word,) for word in self.words]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Cluster words and hold the clusters against the categories: METRICS."""
        asked = self._ask(vectors, items, unknown)
        categories = np.array([self.words[item].category for item in asked.items.tolist()])
        names, classes = np.unique(categories, return_inverse=True)
        units = finite_units(vectors, asked.places[:, 0], asked.composed)
        reason = _why_undefined(len(asked.items), len(names))
        if reason is not None:
            return [self._measured(asked, metric, None, reason) for metric in METRICS]
        clusters = cluster_words(units, len(names))
        return [
            self._measured(asked, metric, Contingency(classes, clusters, metric), None)
            for metric in METRICS
        ]


def cluster_words(units: Any, n_clusters: int) -> np.ndarray:
    """Cluster unit vectors by k-means.

    Of vectors of length 1 the Euclidean distance orders as the cosine does.
    Ten starts by k-means++ from a fixed random state, of which the clustering
    of least inertia counts, in one thread: the same on every call. Zero vectors
    have no direction; they stay zero and go to the cluster with the shortest
    mean.
    """
    # units: float64 (n, D) or scipy.sparse CSR (n, D); returns int64 (n,)
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    if not isinstance(units, np.ndarray):
        if not units.nnz:  # no direction at all
            return np.zeros(units.shape[0], dtype=np.int64)
        units = units[:, np.unique(units.indices)].sorted_indices()  # means are dense
    model = KMeans(n_clusters, n_init=_STARTS, random_state=_SEED)
    # threads add in the order in which they finish, which can tip a word into another cluster;
    # the lock, since limits and filters are the whole process', and what set them last lifts them
    with _ONE_AT_A_TIME, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
        return model.fit_predict(units).astype(np.int64)


def _why_undefined(n_words: int, n_categories: int) -> str | None:
    """Why there is nothing to cluster."""
    if n_words == 0:
        return "no word is known"
    if n_categories == 1:
        return "all known words are of one category"
    if n_categories == n_words:
        return "no two known words are of one category"
    return None
