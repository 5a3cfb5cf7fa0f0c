"""TASKS: what vectors can be scored on, and what a score carries with it."""

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.statistics.estimators import Statistic
from embed.protocols import StaticVectors

# Name to class, as text: a task is imported when it is asked for.
TASKS = {
    "similarity": "embed.compare.tasks.similarity:SimilarityTask",
    "analogy": "embed.compare.tasks.analogy.analogies:AnalogyTask",
    "categorisation": "embed.compare.tasks.categorization:CategorisationTask",
    "odd-one-out": "embed.compare.tasks.odd_one_out:OddOneOutTask",
    "contexts": "embed.compare.tasks.words_in_context:ContextsTask",
    "tagging": "embed.compare.tasks.tagging.task:TaggingTask",
    "sentences": "embed.compare.tasks.sentences.task:SentencesTask",
    "minimal-pairs": "embed.compare.tasks.minimal_pairs:MinimalPairTask",
    "association": "embed.compare.tasks.associations:AssociationTask",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """What one metric is on some items of a set, and how much of the set stands behind it."""

    task: str  # A key of TASKS
    dataset: str  # name of the set's file without its ending, or of its folder
    metric: str  # what is measured: ``spearman``, ``accuracy``
    items: np.ndarray  # int64 (n,): which items of the set it is measured on, ascending
    items_total: int  # items that the whole set, or section, has for this metric
    # the score as a function of how often each of ``items`` counts; None where it is undefined
    statistic: Statistic | None = None
    section: str | None = None  # the part of the set, where it is not the whole
    reason: str | None = None  # why the score is undefined
    # of the items, those with a word that has no row of its own: its vector is composed, of its
    # n-grams or of the words of a phrase
    items_composed: int = 0
    # of the items, those with a word of the vocabulary whose vector is zero, so that it has no
    # direction
    items_zero: int = 0
    note: str | None = None  # what a person should know of how this run was scored
    # int64 (n, k) or None: what each item is made of, where items share what they are made of,
    # such as the two pairs of an analogy question: these are then what a draw draws. None where
    # items are drawn themselves
    units: np.ndarray | None = None
    # the first item that the metric is about, where it is not about all: of a whole set those from
    # ``first`` to ``first + items_total``
    first: int = 0
    ranked: bool = True  # whether higher is better, so that one run is the best
    # chance of a score as high where there is nothing to find; of this run alone, one-sided, not
    # corrected
    p: float | None = None
    # by name, how many words of each list are used, and how many it has; of a test of lists
    coverage: Mapping[str, Sequence[int]] | None = None

    def part(self, section: str, inside: np.ndarray) -> "Measured":
        """Measure a part of the set, of what is measured already."""
        # inside: bool (n_items,)
        chosen = inside[self.items]
        empty = not chosen.any()
        return replace(
            self,
            section=section,
            items=self.items[chosen],
            items_total=int(inside[self.first : self.first + self.items_total].sum()),
            statistic=None if self.statistic is None or empty else self.statistic.take(chosen),
            reason="no item is left" if empty else self.reason,
            items_composed=0,
            items_zero=0,
            units=None if self.units is None else self.units[chosen],
            p=None,
            coverage=None,
        )


class Task(Protocol):
    """One evaluation set, read and ready to score any vectors."""

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "Task":
        """Read the set, which must be well-formed."""

    @property
    def dataset(self) -> str:
        """Name of the set."""

    @property
    def n_items(self) -> int:
        """Items of the set, numbered from 0."""

    def texts(self) -> Iterable[str]:
        """All words of the set as its file writes them, perhaps repeated."""

    def items(self) -> Iterable[Sequence[str]]:
        """The words that each item needs, as the file writes them, in the order of the items."""

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Tell which items these vectors can be asked: bool (n_items,).

        None where they cannot be asked anything of the kind, whatever the items: such a run has
        no part in what all runs are asked.
        """

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measured]:
        """Measure every metric on these items, bool (n_items,), all of them known."""


def read_task(name: str, path: Path, config: CompareConfig) -> Task:
    """Import a task and read a set for it."""
    kind: type[Task] = pkgutil.resolve_name(TASKS[name])
    return kind.read(path, config)
