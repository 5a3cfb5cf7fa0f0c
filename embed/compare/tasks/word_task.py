"""What tasks share that look words up: which items can be asked, and how many are composed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from embed.compare.statistics.estimators import Statistic
from embed.compare.task import Measurement
from embed.protocols import StaticVectors


@dataclass(frozen=True)
class Asked:
    """Items of a set as some vectors know them."""

    items: np.ndarray  # int64 (n,): which, ascending
    # int64 (n, k): rows of the words of each, as :class:`~embed.compare.inputs.lookup.FoundWords`
    # has them; -1 behind the last word of an item that has fewer than others
    places: np.ndarray
    composed: Any  # float32 (m, D) or scipy.sparse CSR (m, D): vectors of words without a row
    # bool (n,): which items have a word whose vector is composed, or zero
    has_composed: np.ndarray
    has_zero: np.ndarray  # bool (n,): which items have a word whose vector is composed, or zero

    @classmethod
    def by_encoder(cls, items: np.ndarray) -> "Asked":
        """Take items whose words are not looked up."""
        # items: bool (n_items,)
        asked = np.flatnonzero(items)
        nothing = np.zeros(len(asked), dtype=bool)
        return cls(asked, np.zeros((len(asked), 0), np.int64), None, nothing, nothing)

    def take(self, chosen: np.ndarray) -> "Asked":
        """Give some of the items."""
        # chosen: bool (n,)
        return Asked(
            self.items[chosen],
            self.places[chosen],
            self.composed,
            self.has_composed[chosen],
            self.has_zero[chosen],
        )


@dataclass(frozen=True)
class WordTask(ABC):
    """A set of which each item is some words, and can be asked when all of them have a vector."""

    dataset: str  # name of the set
    task: ClassVar[str]  # A key of TASKS
    # whether a word may be a phrase, which is known by the mean of its words
    phrases: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, path: Path, config: CompareConfig) -> Self:
        """Read a set."""

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.items())

    @abstractmethod
    def items(self) -> Sequence[Sequence[str]]:
        """List the words of each item as the file writes them."""

    def texts(self) -> Sequence[str]:
        """List the words of all items as the file writes them."""
        return [text for words in self.items() for text in words]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the items of which all words have a vector, or something in its place."""
        # returns bool (n_items,)
        rows = self._find(vectors, unknown).rows
        known = [all(rows[word] >= 0 for word in words) for words in self.items()]
        return np.array(known, dtype=bool)

    @abstractmethod
    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Measure every metric on some items."""
        # items: bool (n_items,)

    def _find(self, vectors: StaticVectors, unknown: str) -> FoundWords:
        """The words of the set as the vectors know them."""
        words = (text for words in self.items() for text in words)  # texts() may be more
        return find_words(vectors, words, unknown, phrases=self.phrases)

    def _ask(self, vectors: StaticVectors, items: np.ndarray, unknown: str) -> Asked:
        """Look up the words of some items."""
        found, words, asked = self._find(vectors, unknown), self.items(), np.flatnonzero(items)
        rows = [found.places(words[item]) for item in asked.tolist()]
        places = np.full((len(rows), max(map(len, rows), default=1)), -1)
        for place, row in zip(places, rows, strict=True):
            place[: len(row)] = row
        composed, zero = found.has_composed(places), has_zero(vectors, places)
        return Asked(asked, places, found.composed, composed, zero)

    def _measured(
        self,
        asked: Asked,
        metric: str,
        statistic: Statistic | None,
        reason: str | None,
        **about: Any,
    ) -> Measurement:
        """One metric on the items asked; without a statistic if there is a reason."""
        about = {"items_total": self.n_items} | about
        return Measurement(
            task=self.task,
            dataset=self.dataset,
            metric=metric,
            items=asked.items,
            statistic=statistic if reason is None else None,
            reason=reason,
            items_composed=int(asked.has_composed.sum()),
            items_zero=int(asked.has_zero.sum()),
            **about,
        )
