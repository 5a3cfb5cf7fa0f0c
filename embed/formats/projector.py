"""Embedding Projector files: vectors in one tab-separated file, words in another."""

from pathlib import Path

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.reading import GrowingMatrix, assemble, open_source
from firth.embed.formats.text import numbers_of_lines, whole_lines
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors

VECTORS = "vectors.tsv"
METADATA = "metadata.tsv"
_PAIRS = ((VECTORS, METADATA), ("tensor.tsv", METADATA), ("vecs.tsv", "meta.tsv"))


def metadata_of(path: Path) -> Path | None:
    """Return the metadata file that belongs to a vectors file, or None."""
    for ending, words in _PAIRS:
        for name in (path.name, path.name.removesuffix(".gz")):
            if name.endswith(ending):
                metadata = path.with_name(name.removesuffix(ending) + words)
                if metadata.is_file():
                    return metadata
    return None


def read_projector(path: Path) -> WordVectors:
    """Read a vectors file and the metadata file beside it."""
    metadata = metadata_of(path)
    if metadata is None:
        raise ArtifactError(
            f"{path}: contains numbers without words; put the projector's {METADATA} beside it"
        )
    words = _read_words(metadata)
    with open_source(path) as source:
        rows: GrowingMatrix | None = None
        for chunk in whole_lines(source):
            dim = rows.dim if rows else len(chunk[: chunk.find(b"\n")].split())
            most = min(len(words), source.limit // (2 * dim) + 1)
            rows = rows or GrowingMatrix(dim, most)
            numbers = numbers_of_lines(chunk, dim, rows.n + 1, path)
            rows.append(len(numbers))[:] = numbers
    matrix = rows.matrix() if rows else np.empty((0, 0), np.float32)
    if len(words) != len(matrix):
        raise ArtifactError(
            f"{metadata}: has {len(words)} words, {path.name} {len(matrix)} vectors"
        )
    return assemble(words, matrix, path)


def write_projector(vectors: WordVectors, folder: Path) -> None:
    """Write ``vectors.tsv`` and ``metadata.tsv``, ready for projector.tensorflow.org."""
    words = list(vectors.vocabulary)
    refuse_unwritable(words, "projector", gaps="\t\r\n")
    folder.mkdir()
    lines = words
    if vectors.counts is not None:  # the projector wants a heading for two columns, none for one
        pairs = zip(words, vectors.counts.tolist(), strict=True)
        lines = ["word\tcount", *(f"{word}\t{count}" for word, count in pairs)]
    (folder / METADATA).write_bytes("".join(f"{line}\n" for line in lines).encode())
    pattern = "\t".join(["%.9g"] * vectors.matrix.shape[1]) + "\n"
    with open(folder / VECTORS, "w", encoding="ascii", newline="\n") as file:
        for block in blocks(vectors.matrix):
            file.writelines(pattern % tuple(row) for row in block.tolist())


def _read_words(path: Path) -> list[str]:
    """Return the words of a metadata file."""
    with open_source(path) as source:
        content = source.read(source.limit)
    try:
        lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ArtifactError(f"{path}:{line}: is not UTF-8") from None
    while lines and not lines[-1]:
        lines.pop()
    if not lines or "\t" not in lines[0]:
        return lines
    heading = [name.lower() for name in lines[0].split("\t")]
    column = heading.index("word") if "word" in heading else 0
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        if len(row) <= column:
            raise ArtifactError(
                f"{path}:{number}: has {len(row)} columns, no word in column {column + 1}"
            )
    return [row[column] for row in rows]
