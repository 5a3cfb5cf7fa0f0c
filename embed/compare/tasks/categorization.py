"""Categorisation: do clusters of the vectors agree with the categories of people?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.categories import CategoryWord, read_categories
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import FoundWords, find_words, finite_units, has_zero
from embed.compare.statistics.estimators import Contingency
from embed.compare.task import Measured
from embed.protocols import StaticVectors

METRICS: tuple[Literal["purity", "nmi", "ari"], ...] = ("purity", "nmi", "ari")
_STARTS = 10  # the one of least inertia counts: chosen without a look at the categories
_SEED = 8
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class CategorisationTask:
    """Words of known categories, scored by how well k-means finds these.

    An item is a word; it can be asked when it has a vector. As many clusters
    are made as there are categories among the words asked, once, with settings
    that do not depend on the categories; purity, normalised mutual information
    and the adjusted Rand index all measure the same clusters.

    Attributes
    ----------
    dataset : str
        Name of the set.
    words : sequence of CategoryWord
        The set.
    """

    dataset: str
    words: Sequence[CategoryWord]

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "CategorisationTask":
        """Read a set of words and categories.

        Parameters
        ----------
        path : Path
            The file; see :func:`~embed.compare.datasets.categories.read_categories`.
        config : CompareConfig
            None of its options matters here.

        Returns
        -------
        CategorisationTask
            Ready to score.
        """
        return cls(set_name(path), read_categories(path))

    @property
    def n_items(self) -> int:
        """How many words there are."""
        return len(self.words)

    def texts(self) -> Iterable[str]:
        """List the words as the file writes them."""
        return [word.word for word in self.words]

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each item, which is one.

        Returns
        -------
        iterable of sequence of str
            As the file writes them.
        """
        return [(word.word,) for word in self.words]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the words that have a vector, or something in its place.

        Parameters
        ----------
        vectors : StaticVectors
            What to look in.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        bool (n_items,)
            True for each such word.
        """
        return self._places(find_words(vectors, self.texts(), unknown)) >= 0

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measured]:
        """Cluster words and hold the clusters against the categories.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse.
        items : bool (n_items,)
            The words to take, all of them known.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        list of Measured
            Metrics ``purity``, ``nmi`` and ``ari``.

        Raises
        ------
        ArtifactError
            A vector holds NaN or infinity.
        """
        found, asked = find_words(vectors, self.texts(), unknown), np.flatnonzero(items)
        places = self._places(found)[asked][:, None]
        categories = np.array([self.words[item].category for item in asked.tolist()])
        names, classes = np.unique(categories, return_inverse=True)
        units = finite_units(vectors, places[:, 0], found.composed)
        reason = _why_undefined(len(asked), len(names))
        clusters = clusters_of(units, len(names)) if reason is None else None
        return [
            Measured(
                task="categorisation",
                dataset=self.dataset,
                metric=metric,
                items=asked,
                items_total=self.n_items,
                sample=None if clusters is None else Contingency(classes, clusters, metric),
                reason=reason,
                items_composed=int(found.has_composed(places).sum()),
                items_zero=int(has_zero(vectors, places).sum()),
            )
            for metric in METRICS
        ]

    def _places(self, found: FoundWords) -> np.ndarray:
        """Where each word stands, int64 (n_items,)."""
        return found.places(self.texts())


def clusters_of(units: Any, n_clusters: int) -> np.ndarray:
    """Cluster unit vectors by k-means.

    Of vectors of length 1 the Euclidean distance orders as the cosine does.
    Ten starts by k-means++ from a fixed random state, of which the clustering
    of least inertia counts, in one thread: the same on every call. Zero vectors
    have no direction; they stay zero and go to the cluster with the shortest
    mean.

    Parameters
    ----------
    units : float64 (n, D) or scipy.sparse CSR (n, D)
        Of length 1, or zero.
    n_clusters : int
        At most n. Fewer are made where fewer vectors are distinct.

    Returns
    -------
    int64 (n,)
        The cluster of each.
    """
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
