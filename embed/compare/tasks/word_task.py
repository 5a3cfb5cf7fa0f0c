"""The base of tasks that look words up: which items are known, and which words are composed."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from firth.embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from firth.embed.compare.task import Task
from firth.embed.protocols import StaticVectors


@dataclass(frozen=True)
class ItemRows:
    """Items of a set with the rows of their words in some vectors."""

    items: np.ndarray  # int64 (n,): item numbers, ascending
    # int64 (n, k): row of each word, as in FoundWords; items with fewer words are
    # padded with -1
    places: np.ndarray
    composed: Any  # float32 (m, D), dense or CSR: vectors of words without a row
    has_composed: np.ndarray  # bool (n,): whether an item has a word with a composed vector
    has_zero: np.ndarray  # bool (n,): whether an item has a word with a zero vector

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of items with a composed and with a zero vector, as a measurement has them."""
        return {
            "items_composed": int(self.has_composed.sum()),
            "items_zero": int(self.has_zero.sum()),
        }

    def take(self, chosen: np.ndarray) -> "ItemRows":
        """Return some of the items."""
        # chosen: bool (n,)
        names = ("items", "places", "has_composed", "has_zero")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


@dataclass(frozen=True)
class WordTask(Task):
    """A set whose items are words; an item is known if all its words have a vector."""

    dataset: str  # name of the set
    # whether a word may be a phrase, represented by the mean of its words
    phrases: ClassVar[bool] = False
    folds_case: ClassVar[bool] = True  # whether words that differ in case only are one

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the items whose words all have a vector, or a substitute for one."""
        # returns bool (n_items,)
        rows = self._find_words(vectors, unknown).rows
        known = [all(rows[word] >= 0 for word in words) for words in self.items()]
        return np.array(known, dtype=bool)

    def _find_words(self, vectors: StaticVectors, unknown: str) -> FoundWords:
        """Look up the words of all items."""
        words = (text for words in self.items() for text in words)  # texts() may have more
        return find_words(vectors, words, unknown, phrases=self.phrases)

    def _word_numbers(self) -> np.ndarray:
        """Return a number of each word of each item, a pair; the same for the same word."""
        # returns int64 (n_items, 2)
        fold = str.casefold if self.folds_case else str
        words = [fold(text) for pair in self.items() for text in pair]
        return np.unique(words, return_inverse=True)[1].reshape(-1, 2)

    def _look_up(self, vectors: StaticVectors, items: np.ndarray, unknown: str) -> ItemRows:
        """Look up the words of some items."""
        found, words = self._find_words(vectors, unknown), self.items()
        numbers = np.flatnonzero(items)
        rows = [found.places(words[item]) for item in numbers.tolist()]
        places = np.full((len(rows), max(map(len, rows), default=1)), -1)
        for place, row in zip(places, rows, strict=True):
            place[: len(row)] = row
        composed, zero = found.has_composed(places), has_zero(vectors, places)
        return ItemRows(numbers, places, found.composed, composed, zero)
