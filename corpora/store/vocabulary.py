"""The full vocabulary: all types with their counts, ids by descending count."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import open_array, read_strings
from firth.corpora.store.vocabulary_kernels import all_within
from firth.corpora.text.characters import punctuation_characters

# The entry of all types beyond --max-types; no segmenter produces an empty word.
PRUNED = ""
_BLOCK_BYTES = 1 << 18  # of types that are decoded at once


class Vocabulary:
    """The memory-mapped types of a corpus; ids by descending count, ties by code point."""

    def __init__(self, directory: Path, *, of_tokens: bool = False) -> None:
        self.directory = directory
        self._of_tokens = of_tokens  # of sequences, in which "=" is one like others
        self.text = open_array(directory, "words.text")  # uint8 (n_bytes,), concatenated UTF-8
        self.offsets = open_array(directory, "words.offsets")  # int64 (n_types + 1,)
        self.counts = open_array(directory, "counts")  # int64 (n_types,), tokens
        self.by_text = open_array(directory, "by_text")  # int32 (n_types,), ids by code point

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, type_id: int) -> str:
        return self.words(type_id, type_id + 1)[0]

    def __iter__(self) -> Iterator[str]:
        """Decode all types, a block of bytes at a time."""
        first = 0
        while first < len(self):
            end = self.offsets[first] + _BLOCK_BYTES
            stop = int(np.searchsorted(self.offsets, end, "right")) - 1
            stop = max(stop, first + 1)  # a type may be longer than a block
            yield from self.words(first, stop)
            first = stop

    def words(self, first: int = 0, stop: int | None = None) -> list[str]:
        """Decode a range of types, by default all."""
        return read_strings(self.text, self.offsets, first, len(self) if stop is None else stop)

    def encoded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the types as bytes, and where each starts and ends."""
        return self.text, self.offsets[:-1], self.offsets[1:]

    def id_of(self, word: str) -> int | None:
        """Return the id of a word by binary search, or None if it does not occur."""

        def spelling(type_id: int) -> bytes:
            return self.text[self.offsets[type_id] : self.offsets[type_id + 1]].tobytes()

        target = word.encode()
        place = bisect_left(self.by_text, target, key=spelling)
        if place == len(self) or spelling(self.by_text[place]) != target:
            return None
        return int(self.by_text[place])

    @property
    def is_pruned(self) -> bool:
        """Whether the last entry stands for all types that ``max_types`` left out."""
        return self[len(self) - 1] == PRUNED

    @cached_property
    def ranks(self) -> np.ndarray:
        """int64 (n_types,): the place of each type in the order of UTF-8."""
        ranks = np.zeros(len(self), dtype=np.int64)
        ranks[self.by_text] = np.arange(len(self))
        return ranks

    @cached_property
    def document_counts(self) -> np.ndarray:
        """int64 (n_types,): the number of documents that contain each type."""
        return open_array(self.directory, "document_counts")

    @cached_property
    def punctuation(self) -> np.ndarray:
        """bool (n_types,): whether a type consists of punctuation alone."""
        out = np.zeros(len(self), dtype=bool)
        if not self._of_tokens:
            all_within(self.text, self.offsets, punctuation_characters(), out)
        return out
