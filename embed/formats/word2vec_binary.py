"""The word2vec.c binary format: a header line, then per word its text, a space and D floats."""

from pathlib import Path

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.reading import (
    GrowingMatrix,
    Source,
    assemble,
    decode_words,
    is_utf8,
    refuse_not_finite,
)
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors

_LONGEST_WORD = 1 << 16
_FLOAT_BYTES = 4
# float32 bits of 1e-15 and 1e15: numbers read at a wrong byte are soon outside
_LEAST, _MOST = np.array([1e-15, 1e15], np.float32).view(np.uint32)
_LONGEST_PHRASE = 256  # bytes
_CACHED = 1 << 16  # numbers that are tested at a time


def read_binary(
    source: Source, n_words: int, dim: int, *, chunk_bytes: int = 1 << 24
) -> WordVectors:
    """Read a word2vec binary file from the end of its header line."""
    path = source.path
    needed = n_words * (dim * _FLOAT_BYTES + 2)
    if needed > source.limit:
        raise ArtifactError(
            f"{path}: the header says {n_words} words of {dim} dimensions, at least {needed} "
            f"bytes, but the file has only {source.limit}; truncated or not a word2vec binary"
        )
    rows = GrowingMatrix(dim, n_words)
    cells: list[bytes] = []  # with the line end of the vector before, if there is one
    rest = b""
    while len(cells) < n_words and (chunk := source.read(chunk_bytes)):
        rest = _take_records(rest + chunk, rows, cells, n_words - len(cells), path)
    if len(cells) < n_words:
        raise ArtifactError(
            f"{path}: truncated: the header says {n_words} words, the file ends in word "
            f"{len(cells) + 1}"
        )
    if (rest + source.read(chunk_bytes)).strip():
        raise ArtifactError(f"{path}: has data after the {n_words} words that the header says")
    _refuse_mixed_ends(cells, path)
    return assemble(decode_words([cell.lstrip(b"\n") for cell in cells], path), rows.matrix(), path)


def write_binary(vectors: WordVectors, path: Path) -> None:
    """Write a word2vec binary file."""
    words = list(vectors.vocabulary)
    refuse_unwritable(words, "word2vec-binary")
    with open(path, "wb") as file:
        file.write(f"{vectors.matrix.shape[0]} {vectors.matrix.shape[1]}\n".encode())
        row = 0
        for block in blocks(vectors.matrix):
            width = block.shape[1] * _FLOAT_BYTES
            data = block.astype("<f4").tobytes()
            for start in range(0, len(data), width):
                file.write(words[row].encode() + b" " + data[start : start + width] + b"\n")
                row += 1


def _take_records(
    data: bytes, rows: GrowingMatrix, cells: list[bytes], most: int, path: Path
) -> bytes:
    """Parse complete records into ``rows`` and ``cells``; return the unparsed rest."""
    width = rows.dim * _FLOAT_BYTES
    vectors: list[memoryview] = []
    starts: list[int] = []
    view = memoryview(data)
    position = 0
    while len(vectors) < most:
        space = data.find(b" ", position, position + _LONGEST_WORD)
        if space < 0 or space + 1 + width > len(data):
            if space < 0 and len(data) - position >= _LONGEST_WORD:
                raise ArtifactError(
                    f"{path}: word {len(cells) + 1} does not end within {_LONGEST_WORD} bytes; "
                    "is the file a word2vec binary with float32 vectors?"
                )
            break
        cells.append(data[position:space])
        starts.append(position)
        vectors.append(view[space + 1 : space + 1 + width])
        position = space + 1 + width
    fresh = rows.append(len(vectors))
    fresh[:] = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), rows.dim)
    odd = _unreasonable(fresh).tolist()
    for row in odd:
        word = rows.n - len(fresh) + row + 1
        if _is_phrase(data, starts[row], width) or (word < len(cells) and not is_utf8(cells[word])):
            raise ArtifactError(_lost(path, word))
    if odd:
        refuse_not_finite(fresh, rows.n - len(fresh), path)
    return data[position:]


def _lost(path: Path, word: int) -> str:
    """Return the error of a file of which a word was read at a wrong byte."""
    return (
        f"{path}: word {word} or {word + 1}: the words contain spaces, or the data are damaged; "
        "save it as text, or replace the spaces"
    )


def _unreasonable(block: np.ndarray) -> np.ndarray:
    """Return which rows have a number, other than 0, that vectors hardly have."""
    # block: float32 (n, D); returns int64 (m,)
    step = max(1, _CACHED // block.shape[1])
    odd = np.zeros(len(block), bool)
    for start in range(0, len(block), step):
        bits = block[start : start + step].view(np.uint32) & np.uint32(0x7FFFFFFF)
        far = bits - _LEAST > _MOST - _LEAST  # 0 wraps around
        if far.any():
            odd[start : start + step] = (far & (bits != 0)).any(axis=1)
    return np.flatnonzero(odd)


def _is_phrase(data: bytes, start: int, width: int) -> bool:
    """Return whether a vector of usual numbers follows a later space of a record."""
    space = data.find(b" ", start)
    while (space := data.find(b" ", space + 1, start + _LONGEST_PHRASE)) >= 0:
        phrase = data[start:space].lstrip(b"\n")
        if space + 1 + width > len(data) or min(phrase) < ord(" ") or not is_utf8(phrase):
            return False
        vector = np.frombuffer(data, "<f4", width // _FLOAT_BYTES, space + 1)
        if not len(_unreasonable(vector[None])):
            return True
    return False


def _refuse_mixed_ends(cells: list[bytes], path: Path) -> None:
    """Raise if a line end follows some vectors only: programs write it after all or none."""
    ended = np.array([cell.startswith(b"\n") for cell in cells[1:]], bool)
    odd = np.flatnonzero(ended != (2 * ended.sum() > len(ended)))
    if len(odd):
        raise ArtifactError(_lost(path, int(odd[0]) + 1))
