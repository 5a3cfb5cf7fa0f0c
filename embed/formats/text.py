"""Vectors as text: a word and D numbers a line, behind a header line or not.

word2vec and fastText write the header "V D", GloVe does not. Separators are
spaces and tabs only: other white space of Unicode does occur within published
words.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from corpora.common.errors import ArtifactError
from embed.formats.reading import Rows, Source, assemble, decode_words
from embed.formats.writing import blocks, refuse_unholdable
from embed.vectors.word_vectors import WordVectors

_LONGEST_LINE = 1 << 26
_LONGEST_TOKEN = 4096
_GAP = re.compile(rb"[ \t\r\n]")
_NUMBER = re.compile(
    rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE
)


def read_text(
    source: Source, n_words: int | None, dim: int, *, chunk_bytes: int = 1 << 22
) -> WordVectors:
    """Read lines of a word and its numbers."""
    path = source.path
    most = source.limit // (2 * dim + 1) + 1  # "w 1 2\n": two bytes a number at least
    if n_words is not None and n_words > most:
        raise ArtifactError(
            f"{path}:1: the header says {n_words} words of {dim} dimensions, which do not fit "
            f"in {source.limit} bytes"
        )
    first_line = 1 if n_words is None else 2
    rows = Rows(dim, 1 if n_words is None else n_words)
    cells: list[bytes] = []
    for chunk in whole_lines(source, chunk_bytes):
        words, numbers = parse_lines(chunk, dim, first_line + len(cells), path)
        cells += words
        rows.room(len(words))[:] = numbers
    if n_words is not None and n_words != len(cells):
        raise ArtifactError(f"{path}:1: the header says {n_words} words, the file has {len(cells)}")
    return assemble(decode_words(cells, path), rows.matrix(), path)


def whole_lines(source: Source, chunk_bytes: int = 1 << 22) -> Iterator[bytes]:
    """Cut a file into chunks of whole lines."""
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
    """Parse whole lines of numbers alone."""
    # returns float32 (n_lines, D)
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
    """Parse whole lines of a word and its numbers, all at once."""
    # returns numbers: float32 (n_lines, D)
    if len(chunk) >= kernel_bytes and (fast := _parse_plain(chunk, dim)):
        return fast
    lines = _Lines(chunk, line, path)
    lines.check_columns(dim)
    starts, stops = lines.tokens[lines.first], lines.tokens[lines.last - dim]
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    words = [chunk[start:stop].rstrip(b" \t") for start, stop in spans]
    return words, lines.floats(_without_words(lines.buffer, starts, stops), dim)


def write_text(vectors: WordVectors, path: Path, *, header: bool) -> None:
    """Write a line per word; nine digits a number, from which a float32 is read back exactly."""
    words = list(vectors.vocabulary)
    refuse_unholdable(words, "word2vec-text" if header else "glove")
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
    """Tell whether a token is written as a number."""
    return _NUMBER.fullmatch(token) is not None


class _Lines:
    """Where the lines and tokens of a chunk are."""

    def __init__(self, chunk: bytes, line: int, path: Path) -> None:
        self.chunk, self.line, self.path = chunk, line, path
        self.buffer = buffer = np.frombuffer(chunk, np.uint8)
        is_gap = (buffer == 32) | (buffer == 9) | (buffer == 10) | (buffer == 13)
        begins = ~is_gap
        begins[1:] &= is_gap[:-1]
        self.tokens = np.flatnonzero(begins)  # where each token begins
        self.last = np.searchsorted(self.tokens, np.flatnonzero(buffer == 10))
        self.first = np.concatenate(([0], self.last[:-1]))
        self.columns = self.last - self.first  # line n: tokens first[n] to last[n] - 1

    def token(self, index: int) -> bytes:
        """The text of one token."""
        start = int(self.tokens[index])
        return _GAP.split(self.chunk[start : start + _LONGEST_TOKEN], maxsplit=1)[0]

    def check_columns(self, dim: int) -> None:
        """Refuse lines with too few or too many columns; a word may have several parts."""
        for n in np.flatnonzero(self.columns != dim + 1).tolist():
            extra = range(int(self.first[n]) + 1, int(self.last[n]) - dim)
            if self.columns[n] <= dim or any(is_number(self.token(at)) for at in extra):
                raise ArtifactError(
                    f"{self.path}:{self.line + n}: has {self.columns[n]} columns, expected a "
                    f"word and {dim} numbers"
                )

    def floats(self, text: bytes, dim: int) -> np.ndarray:
        """The numbers (n_lines, D) of the text, which is the chunk without its words."""
        numbers = _floats(text)
        n = len(self.first)
        if numbers is None or numbers.size != n * dim or not np.isfinite(numbers).all():
            self._refuse_numbers(dim)
        assert numbers is not None
        return numbers.reshape(n, dim)

    def _refuse_numbers(self, dim: int) -> NoReturn:
        """Find the token that is no finite number and refuse it."""
        for n, last in enumerate(self.last.tolist()):
            for token in map(self.token, range(last - dim, last)):
                value = _floats(token)
                if value is None or value.size != 1 or not np.isfinite(value).all():
                    shown = token.decode(errors="backslashreplace")
                    raise ArtifactError(
                        f"{self.path}:{self.line + n}: {shown!r} is no finite number"
                    )
        raise ArtifactError(f"{self.path}:{self.line}: cannot be read as numbers from here on")


def _parse_plain(chunk: bytes, dim: int) -> tuple[list[bytes], np.ndarray] | None:
    """Lines that are all as they should be; None where anything needs a closer look."""
    from embed.formats.number_kernels import parse_rows  # here: compiling is not worth a small file

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
    """The text with spaces in place of the words."""
    edges = np.zeros(len(buffer) + 1, np.int8)
    edges[starts] += 1
    edges[stops] -= 1
    return np.where(np.cumsum(edges[:-1], dtype=np.int8) > 0, np.uint8(32), buffer).tobytes()


def _floats(text: bytes) -> np.ndarray | None:
    """Numbers between white space; None where something else stands there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns, and stops, at what is no number
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except ValueError:
            return None
