"""Text vectors: a word and D numbers per line, with or without a header line.

word2vec and fastText write the header "V D", GloVe does not. Only spaces and tabs separate
columns: published words contain other Unicode whitespace.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.reading import GrowingMatrix, Source, assemble, decode_words
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors

_LONGEST_LINE = 1 << 26
_WITHOUT_HEADER = "if it is complete, delete the first line"
_LONGEST_TOKEN = 4096
_TOKEN = re.compile(rb"[^ \t\r\n]+")
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
            f"in {source.limit} bytes; {_WITHOUT_HEADER}"
        )
    first_line = 1 if n_words is None else 2
    rows: GrowingMatrix | None = None
    cells: list[bytes] = []
    for chunk in whole_lines(source, chunk_bytes):
        words, numbers = parse_lines(chunk, dim, first_line + len(cells), path)
        cells += words
        expected = source.size * len(words) // len(chunk) + 1 if n_words is None else n_words
        rows = rows or GrowingMatrix(dim, expected)
        rows.append(len(words))[:] = numbers
    if n_words is not None and n_words != len(cells):
        raise ArtifactError(
            f"{path}:1: the header says {n_words} words, the file has {len(cells)}; "
            f"{_WITHOUT_HEADER}"
        )
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
    rows = [_TOKEN.findall(text) for text in chunk.split(b"\n")[:-1]]
    for number, row in enumerate(rows, line):
        if len(row) != dim:
            raise ArtifactError(f"{path}:{number}: has {len(row)} columns, expected {dim}")
    return _floats(rows, dim, line, path)


def parse_lines(
    chunk: bytes, dim: int, line: int, path: Path, *, kernel_bytes: int = 1 << 20
) -> tuple[list[bytes], np.ndarray]:
    """Parse lines into words, which may contain spaces, and numbers, float32 (n_lines, D)."""
    if len(chunk) >= kernel_bytes and (fast := _parse_plain(chunk, dim)):
        return fast
    words, rows = [], []
    for number, text in enumerate(chunk.split(b"\n")[:-1], line):
        tokens = list(_TOKEN.finditer(text))
        if len(tokens) <= dim or any(is_number(token[0]) for token in tokens[1:-dim]):
            raise ArtifactError(
                f"{path}:{number}: has {len(tokens)} columns, expected a word and {dim} numbers"
            )
        words.append(text[tokens[0].start() : tokens[-dim].start()].rstrip(b" \t"))
        rows.append([token[0] for token in tokens[-dim:]])
    return words, _floats(rows, dim, line, path)


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


def not_a_number(token: bytes) -> str:
    """Return the error of a column that is no finite number."""
    shown = token[:60].decode(errors="backslashreplace")
    if is_number(token.replace(b",", b".")) and b"," in token:
        return f"{shown!r} is not a number (a decimal comma?); write it with a decimal point"
    return f"{shown!r} is not a finite number"


def _floats(rows: Sequence[Sequence[bytes]], dim: int, line: int, path: Path) -> np.ndarray:
    """Return rows of tokens as numbers, float32 (n, D); raise at the first that is not finite."""
    values = [[float(token) if is_number(token) else np.nan for token in row] for row in rows]
    with np.errstate(over="ignore"):
        numbers = np.array(values, np.float32).reshape(len(rows), dim)
    for row, column in np.argwhere(~np.isfinite(numbers))[:1].tolist():
        raise ArtifactError(f"{path}:{line + row}: {not_a_number(rows[row][column])}")
    return numbers


def _parse_plain(chunk: bytes, dim: int) -> tuple[list[bytes], np.ndarray] | None:
    """Parse regular lines by the compiled kernel; return None if any line is irregular."""
    from firth.embed.formats.number_kernels import parse_rows  # lazy: small files compile nothing

    buffer = np.frombuffer(chunk, np.uint8)
    n = int(np.count_nonzero(buffer == ord("\n")))
    numbers = np.empty((n, dim), np.float32)
    spans = np.empty((n, 2), np.int64)
    hard = np.empty((n * dim // 16 + 16, 2), np.int64)
    done, n_hard = parse_rows(buffer, spans, numbers, hard)
    if done < n:
        return None
    for start, index in hard[:n_hard].tolist():
        [token] = _TOKEN.findall(chunk[start : start + _LONGEST_TOKEN])[:1]
        with np.errstate(over="ignore"):
            numbers.flat[index] = np.float32(float(token))
    if not np.isfinite(numbers).all():
        return None
    return [chunk[start:stop] for start, stop in spans.tolist()], numbers
