"""``vocabulary.tsv``: one word per line, a tab and its count; line number = row.

Opening the file decodes nothing. A word is found by searching the raw bytes; the hashes of all
words are sorted only after many lookups, so that the first query does not read a million words.
Neither takes more than some 30 bytes a word, and words are decoded some at a time.
"""

import mmap
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note

VOCABULARY = "vocabulary.tsv"
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_SEARCHES_BEFORE_INDEX = 24
FEW_SHARED = 0.1  # share of words in a join, below which both hardly fit each other
_LINES_AT_ONCE = 1 << 14
_DIGITS = 18  # any count of so many digits fits int64


def escape(word: str) -> str:
    """Escape a word for one cell of a tab-separated line."""
    return word.translate(_ESCAPES)


def unescape(cell: str) -> str:
    """Unescape a word."""
    if "\\" not in cell:
        return cell
    parts = cell.split("\\\\")  # an escaped backslash cannot start another escape
    for char, name in (("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        parts = [part.replace(name, char) for part in parts]
    return "\\".join(parts)


def write_words(
    path: Path, words: Sequence[str], counts: Sequence[int] | np.ndarray | None
) -> None:
    """Write ``vocabulary.tsv``."""
    # counts: int64 (V,) or None
    path.write_bytes(word_lines(words, counts))


def word_lines(words: Sequence[str], counts: Sequence[int] | np.ndarray | None) -> bytes:
    """Return the content of ``vocabulary.tsv``."""
    cells = [escape(word) for word in words]
    if counts is not None:
        pairs = zip(cells, np.asarray(counts).tolist(), strict=True)
        cells = [f"{cell}\t{count}" for cell, count in pairs]
    return "".join(f"{cell}\n" for cell in cells).encode()


class StoredVocabulary(Sequence[str]):
    """The words of a ``vocabulary.tsv``, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise ArtifactError(f"{path}: no such file; is {path.parent} a finished run?") from None
        except (ValueError, OSError):
            raise ArtifactError(
                f"{path}: is empty or not a regular file; train the run again"
            ) from None
        if self._bytes[-1:] != b"\n":
            raise ArtifactError(f"{path}: the last line is cut off; train the run again")
        self._end = b"\t" if b"\t" in self._bytes[: self._bytes.find(b"\n")] else b"\n"
        self._searches = 0

    def __repr__(self) -> str:
        return f"<{len(self):,} words of {self.path}>"

    def __len__(self) -> int:
        return len(self._line_ends)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self._word(index) for index in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._word(row % len(self))

    def __iter__(self) -> Iterator[str]:
        for cells in self._cells():
            text = self._decode(b"\n".join(cells))
            words = text.split("\n")
            yield from map(unescape, words) if "\\" in text else words

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.row(word) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def row(self, word: str) -> int | None:
        """Return the row of a word; None if it is not in the list."""
        try:
            needle = escape(word).encode() + self._end
        except UnicodeEncodeError:  # a lone surrogate cannot be in a UTF-8 file
            return None
        self._searches += 1
        if self._searches > _SEARCHES_BEFORE_INDEX:
            return self._indexed_row(needle)
        if self._bytes[: len(needle)] == needle:
            return 0
        before = self._bytes.find(b"\n" + needle)
        return None if before < 0 else int(np.searchsorted(self._line_ends, before)) + 1

    def counts(self) -> np.ndarray | None:
        """Return the counts; None if the file has none."""
        # returns int64 (V,) or None
        if not self._has_counts:
            return None
        counts = np.empty(len(self), dtype=np.int64)
        first = 0
        for lines in self._blocks():
            cells = [line.rpartition(b"\t")[2] for line in lines]
            try:
                counts[first : first + len(cells)] = [int(cell) for cell in cells]
            except (ValueError, OverflowError):
                number = first + next(
                    n
                    for n, cell in enumerate(cells, 1)
                    if not cell.isdigit() or len(cell) > _DIGITS
                )
                raise ArtifactError(f"{self.path}:{number}: the count is not a number") from None
            first += len(cells)
        return counts

    def encoded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the words as undecoded bytes, for searches over all words."""
        # returns buffer: uint8 (n_bytes,); returns starts, ends: int64 (V,)
        buffer = np.frombuffer(self._bytes, np.uint8)
        starts = np.concatenate(([0], self._line_ends[:-1] + 1))
        if not self._has_counts:
            return buffer, starts, self._line_ends
        tabs = np.flatnonzero(buffer == ord("\t"))
        if len(tabs) != len(starts):
            raise ArtifactError(f"{self.path}: not every line is a word, a tab and a count")
        return buffer, starts, tabs

    @cached_property
    def _line_ends(self) -> np.ndarray:
        """Return the offsets of the line ends."""
        return np.flatnonzero(np.frombuffer(self._bytes, np.uint8) == ord("\n"))

    @property
    def _has_counts(self) -> bool:
        return self._end == b"\t"

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the hashes of all words, ascending, and their rows; equal ones by row."""
        # returns int64 (V,), int64 (V,)
        hashes, first = np.empty(len(self), dtype=np.int64), 0
        for cells in self._cells():
            hashes[first : first + len(cells)] = list(map(hash, cells))
            first += len(cells)
        rows = np.argsort(hashes, kind="stable")
        return hashes[rows], rows

    def _indexed_row(self, needle: bytes) -> int | None:
        """Return the first row of an escaped word and what ends it, by the hashes."""
        hashes, rows = self._index
        wanted = hash(needle[:-1])
        for place in range(int(np.searchsorted(hashes, wanted)), len(hashes)):
            if hashes[place] != wanted:
                return None
            row = int(rows[place])
            start = self._start(row)
            if self._bytes[start : start + len(needle)] == needle:
                return row
        return None

    def _start(self, row: int) -> int:
        """Return the offset of a line."""
        return int(self._line_ends[row - 1]) + 1 if row else 0

    def _word(self, row: int) -> str:
        """Decode one line."""
        line = self._bytes[self._start(row) : int(self._line_ends[row])]
        return unescape(self._decode(line).partition("\t")[0])

    def _blocks(self) -> Iterator[list[bytes]]:
        """Yield all lines, some at a time."""
        for first in range(0, len(self), _LINES_AT_ONCE):
            last = min(first + _LINES_AT_ONCE, len(self)) - 1
            yield self._bytes[self._start(first) : int(self._line_ends[last])].split(b"\n")

    def _cells(self) -> Iterator[list[bytes]]:
        """Yield all words, some at a time, as they are written."""
        for lines in self._blocks():
            yield [line.partition(b"\t")[0] for line in lines] if self._has_counts else lines

    def _decode(self, content: bytes) -> str:
        """Decode bytes of the file; raise if they are not UTF-8."""
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise ArtifactError(f"{self.path}: is not UTF-8; train the run again") from None


def index_words(words: Sequence[str]) -> dict[str, int]:
    """Map words to rows; a repeated word has its first row."""
    index = dict(zip(words, range(len(words)), strict=True))
    if len(index) < len(words):
        for row in range(len(words) - 1, -1, -1):
            index[words[row]] = row
    return index


def noun_of(source: Any) -> str:
    """Return what output calls a type of a run or a corpus: word, or token in sequences."""
    return getattr(getattr(source, "text", None), "noun", "word")


def note_join(n_shared: int, n_words: int, what: str, *, always: bool = False) -> None:
    """Report how many words have others of the same name, if they are few or ``always``."""
    few = n_shared < FEW_SHARED * n_words
    if few or always:
        cause = "; languages or spellings may differ (capitals, prefixes, NFD, _ for spaces)" * few
        note(f"{n_shared:,} of the {n_words:,} {what}{cause}")


def shared_rows(a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    """Return the rows in two vocabularies of the words of both, int64 (2, n), as sorted in A."""
    places = index_words(a), index_words(b)
    words = [word for word in places[0] if word in places[1]]
    return np.array([[rows[word] for word in words] for rows in places], np.int64).reshape(2, -1)


def joined_rows(a: Any, b: Any, usable_a: np.ndarray, usable_b: np.ndarray) -> np.ndarray:
    """Return the rows of the usable words that two vectors share, int64 (2, n), as sorted in A."""
    # usable: bool (V,)
    rows = shared_rows(a.vocabulary, b.vocabulary)
    smaller, larger = sorted((a, b), key=len)
    note_join(rows.shape[1], len(smaller), f"{noun_of(a)}s of {smaller.name} are in {larger.name}")
    return rows[:, usable_a[rows[0]] & usable_b[rows[1]]]
