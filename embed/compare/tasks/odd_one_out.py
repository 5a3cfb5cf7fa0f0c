"""Odd-one-out: is the word that does not belong the one that is least like the others?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.outlier_groups import Topic, read_topics
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import finite_units
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement
from embed.compare.tasks.word_task import WordTask
from embed.protocols import StaticVectors

_DIGITS = 12  # sums of the same cosines in another order tie, too


@dataclass(frozen=True)
class OddOneOutTask(WordTask):
    """Groups of words and outliers, scored by where compactness puts the outlier.

    Camacho-Collados & Navigli 2016, "Find the word that does not belong: A
    Framework for an Intrinsic Evaluation of Word Vector Representations". An
    item is a group with one of its outliers; it can be asked when all of these
    words have a vector. A phrase, its words between underscores or spaces, that
    is not known as one word has the mean vector of its words.
    """

    topics: Sequence[Topic]  # the set
    task = "odd-one-out"
    phrases = True

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "OddOneOutTask":
        """Read a set of groups and outliers."""
        return cls(set_name(path), read_topics(path))

    def texts(self) -> Sequence[str]:
        """List the words of all topics as the files write them, and the words of phrases."""
        return [
            text
            for topic in self.topics
            for word in (*topic.group, *topic.outliers)
            for text in (word, *word.replace("_", " ").split())
        ]

    def items(self) -> Sequence[Sequence[str]]:
        """List the words of each group with one of its outliers, which is last."""
        return [(*topic.group, outlier) for topic in self.topics for outlier in topic.outliers]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Find the outlier of each item by compactness.

        ``accuracy`` is the share of outliers found, ``opp`` the mean of their positions as shares
        of the last (outlier position percentage, here from 0 to 1).
        """
        asked = self._ask(vectors, items, unknown)
        units = (finite_units(vectors, row[row >= 0], asked.composed) for row in asked.places)
        positions = np.array([outlier_position(each) for each in units], dtype=np.float64)
        told = ~np.isnan(positions)
        reason = None
        if not told.any():
            reason = "all cosines are equal" if len(told) else "no item has all its words known"
        positions[~told] = 0.0
        # the items of a topic share the group
        topics = np.repeat(np.arange(len(self.topics)), [len(t.outliers) for t in self.topics])
        values = {"accuracy": (positions == 1.0).astype(np.float64), "opp": positions}
        return [
            self._measured(asked, name, Means(each), reason, units=topics[asked.items][:, None])
            for name, each in values.items()
        ]


def outlier_position(units: Any) -> float:
    """Tell where compactness puts the last of some words.

    The compactness of a word is the mean cosine of all pairs of the *other*
    words (their section 2): without the outlier, the rest is most compact. The
    outlier's position is the number of words of lower compactness; a tie does
    not count.
    """
    # units: float64 (n + 1, D) or scipy.sparse CSR (n + 1, D)
    cosines = units @ units.T
    cosines = cosines if isinstance(cosines, np.ndarray) else cosines.toarray()
    np.fill_diagonal(cosines, 0.0)
    # all pairs sum to a constant: leaving out a word takes twice its own cosines from it
    likeness = cosines.sum(axis=1).round(_DIGITS)
    if (likeness == likeness[0]).all():
        return float("nan")
    return float((likeness[:-1] > likeness[-1]).mean())
