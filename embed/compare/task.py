"""The evaluation tasks, and what a task measures of a run."""

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import fallback_encoding
from firth.embed.compare.statistics.estimators import Statistic
from firth.embed.protocols import StaticVectors

# Name to import path: a task is imported only when it is needed.
TASKS = {
    "similarity": "firth.embed.compare.tasks.similarity:SimilarityTask",
    "analogy": "firth.embed.compare.tasks.analogy.analogies:AnalogyTask",
    "categorization": "firth.embed.compare.tasks.categorization:CategorizationTask",
    "odd-one-out": "firth.embed.compare.tasks.odd_one_out:OddOneOutTask",
    "contexts": "firth.embed.compare.tasks.words_in_context:ContextsTask",
    "tagging": "firth.embed.compare.tasks.tagging.task:TaggingTask",
    "sentences": "firth.embed.compare.tasks.sentences.task:SentencesTask",
    "minimal-pairs": "firth.embed.compare.tasks.minimal_pairs:MinimalPairTask",
    "change": "firth.embed.compare.tasks.change:ChangeTask",
    "association": "firth.embed.compare.tasks.associations:AssociationTask",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """One metric of one run on one set, with the items it was measured on."""

    task: str  # a key of TASKS
    dataset: str  # name of the set's file without its ending, or of its folder
    metric: str  # such as ``spearman`` or ``accuracy``
    items: np.ndarray  # int64 (n,): numbers of the items measured, ascending
    items_total: int  # items that the whole set, or the section, has for this metric
    # the score as a function of how often each of ``items`` counts; None if undefined
    statistic: Statistic | None = None
    section: str | None = None  # the part of the set; None for the whole set
    reason: str | None = None  # why the score is undefined
    # items with a word outside the vocabulary whose vector is composed, of its n-grams or of the
    # words of a phrase
    items_composed: int = 0
    items_zero: int = 0  # items with a word of the vocabulary whose vector is zero
    note: str | None = None  # how this run was scored, for the reader of the results
    # int64 (n, k): the units that each item is made of, such as the two pairs of an analogy
    # question; the bootstrap then draws units. None where it draws items
    units: np.ndarray | None = None
    # int64 (n, 2): the words of each item, where items that share a word are not independent but
    # items are drawn; the spread of the draws is then widened
    words: np.ndarray | None = None
    # number of the first item that the metric covers: over a whole set it covers ``first`` to
    # ``first + items_total``
    first: int = 0
    ranked: bool = True  # whether higher is better, so that runs can be ranked
    # chance of a score as high under the null hypothesis: one-sided, not corrected for other runs
    p: float | None = None
    # the score of guessing or, for labels, of always giving the most frequent one; None where it
    # depends on the run
    chance: float | None = None
    # list name to (words used, words in all), for association tests
    coverage: Mapping[str, Sequence[int]] | None = None

    @property
    def n_independent(self) -> int:
        """Number of independent observations: units that are drawn, or words, or else items."""
        shared = self.words if self.units is None else self.units
        n_items = len(self.items)
        if shared is None:
            return n_items
        return min(n_items, int(np.count_nonzero(np.bincount(shared.ravel()))))

    def part(self, section: str, inside: np.ndarray) -> "Measurement":
        """Return the same metric on one section; undefined if no item is left.

        Counts of composed and zero items, ``p`` and ``coverage`` are dropped: they are those of
        the whole.
        """
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
            words=None if self.words is None else self.words[chosen],
            p=None,
            chance=None,
            coverage=None,
        )


class Task(Protocol):
    """One evaluation set, read and ready to score any vectors.

    Items are numbered from 0. A task must be deterministic, and its ``repr`` must name everything
    that its measurements depend on: it is part of the key under which they are cached.
    """

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "Task":
        """Read a set.

        Parameters
        ----------
        path : Path
            The file or folder of the set; several files of one set are joined by commas.
        config : CompareConfig
            Options of the comparison.

        Returns
        -------
        Task
            Ready to score.

        Raises
        ------
        SourceError
            If the set is missing or malformed.
        """

    @property
    def dataset(self) -> str:
        """Name of the set."""

    @property
    def n_items(self) -> int:
        """Number of items in the set."""

    def texts(self) -> Iterable[str]:
        """Return all words of the set as its file writes them, possibly repeated."""

    def items(self) -> Iterable[Sequence[str]]:
        """Return the words that each item needs, as the file writes them, in item order."""

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Return which items these vectors can be scored on.

        Parameters
        ----------
        vectors : StaticVectors
            The vectors of a run.
        unknown : {"skip", "zero", "mean"}
            What an unknown word gets: nothing, a zero vector or the mean vector.

        Returns
        -------
        bool (n_items,) or None
            None if the vectors cannot be scored on this kind of set at all; such a run does not
            restrict the items that all runs share.
        """

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Measure every metric of the task on some items.

        Parameters
        ----------
        vectors : StaticVectors
            The vectors of a run.
        items : bool (n_items,)
            The items to score, all of them known.
        unknown : {"skip", "zero", "mean"}
            As for :meth:`known`.

        Returns
        -------
        list of Measurement
            One per metric, and per section where sections are scored.

        Raises
        ------
        ArtifactError
            If a vector, a state or a sentence score is NaN or infinite.
        """


def read_task(name: str, path: Path, config: CompareConfig) -> Task:
    """Import a task by its name and read a set for it."""
    kind: type[Task] = pkgutil.resolve_name(TASKS[name])
    with fallback_encoding(config.encoding):
        return kind.read(path, config)
