"""The word2vec.c binary format: a header line, then per word its text, a space and D floats."""

from pathlib import Path

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.reading import (
    GrowingMatrix,
    Source,
    assemble,
    decode_words,
    refuse_not_finite,
)
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors

_LONGEST_WORD = 1 << 16
_FLOAT_BYTES = 4


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
    rows = GrowingMatrix(dim, n_words, path)
    cells: list[bytes] = []
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
    return assemble(decode_words(cells, path), rows.matrix(), path)


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
        cells.append(data[position:space].lstrip(b"\n"))
        vectors.append(view[space + 1 : space + 1 + width])
        position = space + 1 + width
    fresh = rows.append(len(vectors))
    fresh[:] = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), rows.dim)
    refuse_not_finite(fresh, rows.n - len(fresh), path)
    return data[position:]
