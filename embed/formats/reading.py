"""Helpers that the readers of vector formats share."""

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words

GZIP_MAGIC = b"\x1f\x8b"
_GZIP_RATIO = 1100  # above the maximum compression ratio of deflate, 1032
_TEXT_RATIO = 3  # of numbers in text


@dataclass(frozen=True)
class Source:
    """A vectors file being read."""

    path: Path  # for messages
    file: BinaryIO  # decompressed
    limit: int  # upper bound on the decompressed size in bytes
    size: int  # about the decompressed size in bytes

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes; raise ArtifactError if the gzip data are damaged."""
        try:
            return self.file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArtifactError(f"{self.path}: the gzip data are damaged: {error}") from None


@contextlib.contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a vectors file, gzipped or not."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            zipped = file.read(2) == GZIP_MAGIC
            file.seek(0)
            if zipped:
                with gzip.open(file) as unzipped:
                    limit, about = size * _GZIP_RATIO, size * _TEXT_RATIO
                    yield Source(path, unzipped, limit, about)  # type: ignore[arg-type]
            else:
                yield Source(path, file, size, size)
    except FileNotFoundError:
        raise ArtifactError(f"{path}: no such run or vectors file") from None
    except (IsADirectoryError, PermissionError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}") from None


class GrowingMatrix:
    """A float32 matrix that grows while a file is read, by an eighth at a time and in place."""

    def __init__(self, dim: int, expected: int) -> None:
        self.dim = dim
        self._matrix = np.empty((max(expected, 1), dim), np.float32)
        self.n = 0

    def append(self, n: int) -> np.ndarray:
        """Append uninitialized rows and return a view of them, float32 (n, D)."""
        if self.n + n > len(self._matrix):
            capacity = max(self.n + n, len(self._matrix) * 9 // 8)
            # the system moves large arrays without copying; no view of a row is used by now
            self._matrix.resize((capacity, self.dim), refcheck=False)
        self.n += n
        return self._matrix[self.n - n : self.n]

    def matrix(self) -> np.ndarray:
        """Return all appended rows, float32 (n, D)."""
        return self._matrix[: self.n]


def decode_words(cells: Sequence[bytes], path: Path) -> list[str]:
    """Decode words as UTF-8; write invalid bytes as escapes and print a note."""
    if not cells:
        return []
    try:
        return b"\n".join(cells).decode().split("\n")
    except UnicodeDecodeError:
        words = [cell.decode(errors="backslashreplace") for cell in cells]
    broken = [n for n, cell in enumerate(cells) if not is_utf8(cell)]
    note(
        f"{path}: {len(broken)} of {len(cells)} words are not UTF-8; invalid bytes become "
        f"escapes, for example {words[broken[0]]}"
    )
    return words


def refuse_not_finite(block: np.ndarray, first: int, path: Path) -> None:
    """Raise if a vector of some words, from number ``first`` on, has NaN or infinity."""
    # block: float32 (n, D)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        raise ArtifactError(
            f"{path}: the vector of word {first + int(np.argmin(finite)) + 1} contains NaN or "
            "infinity; download or create it again"
        )


def assemble(words: list[str], matrix: np.ndarray, path: Path) -> WordVectors:
    """Return WordVectors; keep the first vector of a repeated word and print a note."""
    # matrix: float32 (V, D)
    if not words:
        raise ArtifactError(f"{path}: contains no words")
    distinct = len(set(words))
    if distinct < len(words):
        first = index_words(words)
        repeated = next(word for row, word in enumerate(words) if first[word] != row)
        note(
            f"{path}: {len(words) - distinct} words are repeated, for example {repeated!r}; "
            "the first vector of each is used"
        )
        words, matrix = list(first), _keep_rows(matrix, np.array(list(first.values())))
    return WordVectors(words, matrix, name=str(path))


def _keep_rows(matrix: np.ndarray, rows: np.ndarray, block: int = 1 << 14) -> np.ndarray:
    """Return some rows, moved to the start of the matrix: a copy could double the memory."""
    # matrix: float32 (V, D), overwritten; rows: int64 (n,), ascending
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        matrix[start : start + len(some)] = matrix[some]
    return matrix[: len(rows)]


def is_utf8(cell: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        cell.decode()
    except UnicodeDecodeError:
        return False
    return True
