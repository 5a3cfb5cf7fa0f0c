"""Odd-one-out: whether the word that does not belong is the least similar one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import TEXT_FILES
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.outlier_groups import Topic, looks_like_topic, read_topics
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.protocols import StaticVectors

_DIGITS = 12  # so that sums of the same cosines in another order tie


@dataclass(frozen=True)
class OddOneOutTask(WordTask):
    """Groups of words with outliers, scored by the outlier's rank in compactness.

    Camacho-Collados & Navigli 2016; an item is a group with one of its outliers. A phrase that is
    not in the vocabulary is the mean of its words.
    """

    topics: Sequence[Topic]  # the set
    key = "odd-one-out"
    skill = "finding the odd one out"
    metrics: ClassVar = {
        "accuracy": "share of groups whose outlier is the least similar word",
        "opp": "mean position of the outlier by similarity; 1 if it is always last",
    }
    phrases = True
    inner_files = TEXT_FILES

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize lists in brackets, or words, a blank line and outliers."""
        if any("['" in line or '["' in line for line in head.lines):
            return Match.NO if head.text.startswith("{") else Match.CERTAIN
        return Match.LIKELY if looks_like_topic(head) else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "OddOneOutTask":
        """Read a set of groups and outliers."""
        return cls(set_name(path), read_topics(path))

    def texts(self) -> Sequence[str]:
        """Return the words of all topics as the files write them, and the words of phrases."""
        return [
            text
            for topic in self.topics
            for word in (*topic.group, *topic.outliers)
            for text in (word, *word.replace("_", " ").split())
        ]

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each group with one of its outliers, which is last."""
        return [(*topic.group, outlier) for topic in self.topics for outlier in topic.outliers]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Rank the outlier of each item; ``opp`` is the mean position as a share of the last."""
        found = self._look_up(vectors, items, unknown)
        rows = (finite_units(vectors, row[row >= 0], found.composed) for row in found.places)
        positions = np.array([outlier_position(each) for each in rows], dtype=np.float64)
        defined = ~np.isnan(positions)
        reason = None
        if not defined.any():
            reason = "all cosines are equal" if len(defined) else "no item has all its words known"
        positions[~defined] = 0.0
        # the items of a topic share the group
        topics = np.repeat(np.arange(len(self.topics)), [len(t.outliers) for t in self.topics])
        units = topics[found.items][:, None]
        lengths = (found.places >= 0).sum(1)
        by_guessing = float((1 / lengths).mean()) if len(lengths) else None
        return [
            self._measurement(
                name, found.items, Means(each), reason, units=units, chance=chance, **found.counts
            )
            for name, each, chance in (
                ("accuracy", (positions == 1.0).astype(np.float64), by_guessing),
                ("opp", positions, 0.5),
            )
        ]


def outlier_position(units: Any) -> float:
    """Return the share of words less compact than the last, without ties; NaN if all tie."""
    # units: float64 (n + 1, D), dense or CSR; unit vectors or zero, the outlier last
    cosines = units @ units.T
    cosines = cosines if isinstance(cosines, np.ndarray) else cosines.toarray()
    np.fill_diagonal(cosines, 0.0)
    # the sum over all pairs is constant: leaving out a word subtracts twice its own cosines
    similarity = cosines.sum(axis=1).round(_DIGITS)
    if (similarity == similarity[0]).all():
        return float("nan")
    return float((similarity[:-1] > similarity[-1]).mean())
