"""The evaluation tasks, and what a task measures of a run."""

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import file_and_column
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.kinds import KINDS
from firth.embed.compare.statistics.estimators import Statistic
from firth.embed.protocols import StaticVectors


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """One metric of one run on one set, with the items it was measured on."""

    task: str  # the task's key
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
    pooling: str = ""  # of which the run has a row of its own
    # how items are grouped: ``by`` a field, in how many ``groups`` and ``folds``
    grouped: Mapping[str, Any] | None = None
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


class Task(ABC):
    """One evaluation set, read and ready to score any vectors.

    The class declares what users see of the task. Items are numbered from 0. A task must be
    deterministic, and its ``repr`` must name everything that its measurements depend on: it is
    part of the key under which they are cached.
    """

    key: ClassVar[str]  # its name in :data:`KINDS`, results and the documentation
    skill: ClassVar[str]  # what a run is good at, as in "better at similarity of words"
    metrics: ClassVar[Mapping[str, str]]  # name to what it is, the one to judge by first
    # whether a set may be several files, joined by commas
    several_files: ClassVar[bool] = False
    inner_files: ClassVar[str] = ""  # pattern of the files of a set that is a folder
    # whether an unknown word is a zero vector in its item; else its item is left out
    zero_if_unknown: ClassVar[bool] = False
    deals_folds: ClassVar[bool] = False  # so that ``groups`` can be kept in one

    dataset: str  # name of the set

    @property
    def own_baseline(self) -> str:
        """Name of the baseline that only sets of this kind have, or empty."""
        return ""

    @staticmethod
    def looks(head: Head) -> bool:
        """Return whether a set has the form of this task; each has this or its :meth:`recognize`.

        Parameters
        ----------
        head : Head
            As of :meth:`recognize`.

        Returns
        -------
        bool
        """
        raise NotImplementedError

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Return whether a set looks like one of this task; likely if it ``looks`` so.

        Parameters
        ----------
        head : Head
            The first lines of its file or, in a folder, of the first of ``inner_files``; the names
            in the folder if the task has no such pattern.

        Returns
        -------
        Match
            Certain by names and marks that no other sets have, likely by the form of its lines.
        """
        return Match.LIKELY if cls.looks(head) else Match.NO

    @classmethod
    @abstractmethod
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

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """Return all files and folders that are read for a set, so that none is overwritten.

        Parameters
        ----------
        path : Path
            The set, as for :meth:`read`.

        Returns
        -------
        list of Path
            Among them the folder, if it is one.
        """
        names = str(path).split(",") if cls.several_files else [str(path)]
        inner = path.glob(cls.inner_files) if cls.inner_files else ()
        given = (file_and_column(Path(name.strip()))[0] for name in names if name.strip())
        return [*given, *inner]

    @classmethod
    def split(cls, path: Path, config: CompareConfig) -> list[Path]:
        """Return what is to :meth:`read` as a set of its own: by default, the whole file.

        Parameters
        ----------
        path : Path
            The set as it is given.
        config : CompareConfig
            As for :meth:`read`.

        Returns
        -------
        list of Path
            One path for each.
        """
        return [path]

    @property
    def n_items(self) -> int:
        """Number of items in the set."""
        return len(self.items())

    @abstractmethod
    def items(self) -> Sequence[Sequence[str]]:
        """Return the words that each item needs, as the file writes them, in item order."""

    def texts(self) -> Iterable[str]:
        """Return all words of the set as its file writes them, possibly repeated."""
        return [text for words in self.items() for text in words]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Return which items these vectors can be scored on; by default all.

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
        return np.ones(self.n_items, dtype=bool)

    @abstractmethod
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

    def _measurement(
        self,
        metric: str,
        items: np.ndarray,
        statistic: Statistic | None,
        reason: str | None,
        **about: Any,
    ) -> Measurement:
        """Return one metric on some items; undefined if there is a reason."""
        # items: int64 (n,)
        return Measurement(
            task=self.key,
            dataset=self.dataset,
            metric=metric,
            items=items,
            statistic=statistic if reason is None else None,
            reason=reason,
            **{"items_total": self.n_items} | about,
        )


def task_class(key: str) -> type[Task]:
    """Import a task by its key."""
    task: type[Task] = pkgutil.resolve_name(f"firth.embed.compare.tasks.{KINDS[key].task}")
    return task
