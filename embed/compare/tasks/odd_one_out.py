"""Odd-one-out: is the word that does not belong the one that is least like the others?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.outlier_groups import Topic, read_topics
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import FoundWords, find_words, finite_units, has_zero
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measured
from embed.protocols import StaticVectors

_DIGITS = 12  # sums of the same cosines in another order tie, too


@dataclass(frozen=True)
class OddOneOutTask:
    """Groups of words and outliers, scored by where compactness puts the outlier.

    Camacho-Collados & Navigli 2016, "Find the word that does not belong: A
    Framework for an Intrinsic Evaluation of Word Vector Representations". An
    item is a group with one of its outliers; it can be asked when all of these
    words have a vector. A phrase, its words between underscores or spaces, that
    is not known as one word has the mean vector of its words.

    Attributes
    ----------
    dataset : str
        Name of the set.
    topics : sequence of Topic
        The set.
    """

    dataset: str
    topics: Sequence[Topic]

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "OddOneOutTask":
        """Read a set of groups and outliers.

        Parameters
        ----------
        path : Path
            A file or folder; see :func:`~embed.compare.datasets.outlier_groups.read_topics`.
        config : CompareConfig
            None of its options matters here.

        Returns
        -------
        OddOneOutTask
            Ready to score.
        """
        return cls(set_name(path), read_topics(path))

    @property
    def n_items(self) -> int:
        """How many groups with an outlier there are."""
        return len(self._items)

    def texts(self) -> Iterable[str]:
        """List the words of all topics as the files write them, and the words of phrases."""
        return [
            text
            for topic in self.topics
            for word in (*topic.group, *topic.outliers)
            for text in (word, *word.replace("_", " ").split())
        ]

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each group with its outlier.

        Returns
        -------
        iterable of sequence of str
            As the file writes them.
        """
        return self._items

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the items of which all words have a vector, or something in its place.

        Parameters
        ----------
        vectors : StaticVectors
            What to look in.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        bool (n_items,)
            True for each such item.
        """
        found = self._find(vectors, unknown)
        return np.array([(found.places(words) >= 0).all() for words in self._items], dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measured]:
        """Find the outlier of each item by compactness.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse.
        items : bool (n_items,)
            The groups with an outlier to take, all of them known.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        list of Measured
            Metrics ``accuracy``, the share of outliers found, and ``opp``, the
            mean of their positions as shares of the last (outlier position
            percentage, here from 0 to 1).

        Raises
        ------
        ArtifactError
            A vector holds NaN or infinity.
        """
        found, asked = self._find(vectors, unknown), np.flatnonzero(items)
        places = [found.places(self._items[item]) for item in asked.tolist()]
        positions = np.array(list(_positions(vectors, places, found.composed)), dtype=np.float64)
        told = ~np.isnan(positions)
        reason = None
        if not told.any():
            reason = "all cosines are equal" if len(asked) else "no item has all its words known"
        positions[~told] = 0.0
        topics = self._topics[asked][:, None]
        values = {"accuracy": (positions == 1.0).astype(np.float64), "opp": positions}
        return [
            Measured(
                task="odd-one-out",
                dataset=self.dataset,
                metric=metric,
                items=asked,
                items_total=self.n_items,
                sample=Means(each) if reason is None else None,
                reason=reason,
                items_composed=sum(int(found.has_composed(p[None])[0]) for p in places),
                items_zero=sum(int(has_zero(vectors, p[None])[0]) for p in places),
                units=topics,
            )
            for metric, each in values.items()
        ]

    @cached_property
    def _topics(self) -> np.ndarray:
        """The topic of each item, int64 (n_items,): its items share the group."""
        return np.repeat(np.arange(len(self.topics)), [len(t.outliers) for t in self.topics])

    @cached_property
    def _items(self) -> list[tuple[str, ...]]:
        """The words of each item, the outlier last."""
        return [(*topic.group, outlier) for topic in self.topics for outlier in topic.outliers]

    def _find(self, vectors: StaticVectors, unknown: str) -> FoundWords:
        """The words and phrases of the set as the vectors know them."""
        texts = [text for words in self._items for text in words]
        return find_words(vectors, texts, unknown, phrases=True)


def outlier_position(units: Any) -> float:
    """Tell where compactness puts the last of some words.

    The compactness of a word is the mean cosine of all pairs of the *other*
    words (their section 2): without the outlier, the rest is most compact. The
    outlier's position is the number of words of lower compactness; a tie does
    not count.

    Parameters
    ----------
    units : float64 (n + 1, D) or scipy.sparse CSR (n + 1, D)
        Vectors of length 1, or zero; the outlier's last.

    Returns
    -------
    float
        Position / n: 1 where it is found. NaN where all words are as compact.

    Examples
    --------
    >>> outlier_position(np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]))
    1.0
    """
    cosines = units @ units.T
    cosines = cosines if isinstance(cosines, np.ndarray) else cosines.toarray()
    np.fill_diagonal(cosines, 0.0)
    # all pairs sum to a constant: leaving out a word takes twice its own cosines from it
    likeness = cosines.sum(axis=1).round(_DIGITS)
    if (likeness == likeness[0]).all():
        return float("nan")
    return float((likeness[:-1] > likeness[-1]).mean())


def _positions(
    vectors: StaticVectors, items: Iterable[np.ndarray], composed: Any
) -> Iterator[float]:
    """The outlier's position in each item."""
    for places in items:
        yield outlier_position(finite_units(vectors, places, composed))
