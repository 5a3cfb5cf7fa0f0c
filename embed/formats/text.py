"""Text vectors: a word and D numbers per line, with or without a header line.

word2vec and fastText write the header "V D", GloVe does not. Only spaces and tabs separate
columns: published words contain other Unicode whitespace.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.reading import GrowingMatrix, Source, assemble, decode_words
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors

_LONGEST_LINE = 1 << 26
_LONGEST_TOKEN = 4096
_GAP = re.compile(rb"[ \t\r\n]")
_NUMBER = re.compile(
    rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE
)


def read_text(
    source: Source, n_words: int | None, dim: int, *, chunk_bytes: int = 1 << 22
) -> WordVectors:
    """Read a file of words and numbers from its first data line."""
    path = source.path
    most = source.limit // (2 * dim + 1) + 1  # "w 1 2\n": two bytes a number at least
    if n_words is not None and n_words > most:
        raise ArtifactError(
            f"{path}:1: the header says {n_words} words of {dim} dimensions, which do not fit "
            f"in {source.limit} bytes"
        )
    first_line = 1 if n_words is None else 2
    rows: GrowingMatrix | None = None
    cells: list[bytes] = []
    for chunk in whole_lines(source, chunk_bytes):
        words, numbers = parse_lines(chunk, dim, first_line + len(cells), path)
        cells += words
        expected = source.size * len(words) // len(chunk) + 1 if n_words is None else n_words
        rows = rows or GrowingMatrix(dim, expected, path)
        rows.append(len(words))[:] = numbers
    if n_words is not None and n_words != len(cells):
        raise ArtifactError(f"{path}:1: the header says {n_words} words, the file has {len(cells)}")
    matrix = np.empty((0, dim), np.float32) if rows is None else rows.matrix()
    return assemble(decode_words(cells, path), matrix, path)


def whole_lines(source: Source, chunk_bytes: int = 1 << 22) -> Iterator[bytes]:
    """Yield chunks of complete lines; the last ends in a newline even if the file does not."""
    rest = b""
    while chunk := source.read(chunk_bytes):
        rest += chunk
        cut = rest.rfind(b"\n", 0, len(rest.rstrip(b" \t\r\n"))) + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:]
        if len(rest) > _LONGEST_LINE:
            raise ArtifactError(f"{source.path}: a line is longer than {_LONGEST_LINE} bytes")
    if rest.strip():
        yield rest.rstrip(b" \t\r\n") + b"\n"


def numbers_of_lines(chunk: bytes, dim: int, line: int, path: Path) -> np.ndarray:
    """Parse lines of numbers without words, float32 (n_lines, D)."""
    lines = _Lines(chunk, line, path)
    wrong = np.flatnonzero(lines.columns != dim)
    if len(wrong):
        raise ArtifactError(
            f"{path}:{line + wrong[0]}: has {lines.columns[wrong[0]]} columns, expected {dim}"
        )
    return lines.floats(chunk, dim)


def parse_lines(
    chunk: bytes, dim: int, line: int, path: Path, *, kernel_bytes: int = 1 << 20
) -> tuple[list[bytes], np.ndarray]:
    """Parse lines into words and numbers, float32 (n_lines, D)."""
    if len(chunk) >= kernel_bytes and (fast := _parse_plain(chunk, dim)):
        return fast
    lines = _Lines(chunk, line, path)
    lines.check_columns(dim)
    starts, stops = lines.tokens[lines.first], lines.tokens[lines.last - dim]
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    words = [chunk[start:stop].rstrip(b" \t") for start, stop in spans]
    return words, lines.floats(_without_words(lines.buffer, starts, stops), dim)


def write_text(vectors: WordVectors, path: Path, *, header: bool) -> None:
    """Write one line per word, with nine digits per number so that float32 round-trips."""
    words = list(vectors.vocabulary)
    refuse_unwritable(words, "word2vec-text" if header else "glove")
    n_words, dim = vectors.matrix.shape
    pattern = " %.9g" * dim + "\n"
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        if header:
            file.write(f"{n_words} {dim}\n")
        remaining = iter(words)
        for block in blocks(vectors.matrix):
            for row in block.tolist():
                file.write(next(remaining) + pattern % tuple(row))


def is_number(token: bytes) -> bool:
    """Return whether a token is a number, ``nan`` or ``inf``."""
    return _NUMBER.fullmatch(token) is not None


class _Lines:
    """Positions of the lines and tokens of a chunk."""

    def __init__(self, chunk: bytes, line: int, path: Path) -> None:
        self.chunk, self.line, self.path = chunk, line, path
        self.buffer = buffer = np.frombuffer(chunk, np.uint8)
        is_gap = (buffer == 32) | (buffer == 9) | (buffer == 10) | (buffer == 13)
        begins = ~is_gap
        begins[1:] &= is_gap[:-1]
        self.tokens = np.flatnonzero(begins)  # start of each token
        self.last = np.searchsorted(self.tokens, np.flatnonzero(buffer == 10))
        self.first = np.concatenate(([0], self.last[:-1]))
        self.columns = self.last - self.first  # line n: tokens first[n] to last[n] - 1

    def token(self, index: int) -> bytes:
        """Return one token."""
        start = int(self.tokens[index])
        return _GAP.split(self.chunk[start : start + _LONGEST_TOKEN], maxsplit=1)[0]

    def check_columns(self, dim: int) -> None:
        """Raise if a line has too few or too many columns; a word may contain spaces."""
        for n in np.flatnonzero(self.columns != dim + 1).tolist():
            extra = range(int(self.first[n]) + 1, int(self.last[n]) - dim)
            if self.columns[n] <= dim or any(is_number(self.token(at)) for at in extra):
                raise ArtifactError(
                    f"{self.path}:{self.line + n}: has {self.columns[n]} columns, expected a "
                    f"word and {dim} numbers"
                )

    def floats(self, text: bytes, dim: int) -> np.ndarray:
        """Parse the chunk with its words blanked out, float32 (n_lines, D)."""
        numbers = _floats(text)
        n = len(self.first)
        if numbers is None or numbers.size != n * dim or not np.isfinite(numbers).all():
            self._raise_bad_number(dim)
        assert numbers is not None
        return numbers.reshape(n, dim)

    def _raise_bad_number(self, dim: int) -> NoReturn:
        """Raise for the first token that is not a finite number."""
        for n, last in enumerate(self.last.tolist()):
            for token in map(self.token, range(last - dim, last)):
                value = _floats(token)
                if value is None or value.size != 1 or not np.isfinite(value).all():
                    shown = token.decode(errors="backslashreplace")
                    raise ArtifactError(
                        f"{self.path}:{self.line + n}: {shown!r} is not a finite number"
                    )
        raise ArtifactError(f"{self.path}:{self.line}: not numbers from here on")


def _parse_plain(chunk: bytes, dim: int) -> tuple[list[bytes], np.ndarray] | None:
    """Parse regular lines by the compiled kernel; return None if any line is irregular."""
    from firth.embed.formats.number_kernels import (
        parse_rows,  # lazy: small files need no compilation
    )

    buffer = np.frombuffer(chunk, np.uint8)
    n = int(np.count_nonzero(buffer == ord("\n")))
    numbers = np.empty((n, dim), np.float32)
    spans = np.empty((n, 2), np.int64)
    hard = np.empty((n * dim // 16 + 16, 2), np.int64)
    done, n_hard = parse_rows(buffer, spans, numbers, hard)
    if done < n:
        return None
    for start, index in hard[:n_hard].tolist():
        token = _GAP.split(chunk[start : start + _LONGEST_TOKEN], maxsplit=1)[0]
        with np.errstate(over="ignore"):
            numbers.flat[index] = np.float32(float(token))
    if not np.isfinite(numbers).all():
        return None
    return [chunk[start:stop] for start, stop in spans.tolist()], numbers


def _without_words(buffer: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> bytes:
    """Return the text with each word replaced by spaces."""
    edges = np.zeros(len(buffer) + 1, np.int8)
    edges[starts] += 1
    edges[stops] -= 1
    return np.where(np.cumsum(edges[:-1], dtype=np.int8) > 0, np.uint8(32), buffer).tobytes()


def _floats(text: bytes) -> np.ndarray | None:
    """Parse whitespace-separated numbers; return None if a token is not one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns and stops at the first non-number
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except ValueError:
            return None
