"""fastText model files (``.bin``): words and the n-grams from which unseen words are composed.

A model contains two float32 tables: the input table, with a row per word and then a row per
n-gram bucket, and the output table, which is not used here. The input table is memory-mapped; one
composed vector per word is kept in memory.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note
from firth.embed.formats.reading import (
    GZIP_MAGIC,
    assemble,
    decode_words,
    refuse_not_finite,
)
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.runs.run import Run
from firth.embed.vectors.run_files import open_array
from firth.embed.vectors.subwords import SubwordTable, byte_buckets, composed_rows
from firth.embed.vectors.word_vectors import INPUTS, WordVectors

MAGIC = struct.pack("<i", 793712314)
_VERSIONS = (11, 12)
_SUPERVISED = 3
_MODELS = (1, 2, _SUPERVISED)  # CBOW, skip-gram
_FLOAT_BYTES = 4
_ENTRY_BYTES = 10  # smallest dictionary entry: a NUL, a count and a type
_LONGEST_WORD = 1 << 16
_UNPRUNED = -1
_NEGATIVE_SAMPLING, _UPDATE_RATE, _SUBSAMPLE = 2, 100, 1e-4  # of training, which nothing reads
_BUCKETS_AT_ONCE = 1 << 16


def read_fasttext(path: Path, *, block: int = 1 << 16) -> WordVectors:
    """Read a fastText model; ``block`` words are composed at a time."""
    with open(path, "rb") as file:
        if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
            raise ArtifactError(f"{path}: gzipped fastText model; unpack it with gunzip first")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            model = _Reader(path, content).model()
    n_words, dim = len(model.words), model.inputs.shape[1]
    matrix = np.empty((n_words, dim), np.float32)
    for start in range(0, n_words, block):
        words, rows = model.words[start : start + block], matrix[start : start + block]
        rows[:] = model.inputs[start : start + len(rows)]
        if (table := model.table) is not None:
            ngrams = byte_buckets(words, table.shortest, table.longest, table.n_buckets)
            rows[:] = composed_rows(rows, table.rows, *ngrams)
        refuse_not_finite(rows, start, path)
    read = assemble(decode_words(model.words, path), matrix, path)
    all_distinct = len(read.vocabulary) == n_words
    return WordVectors(
        read.vocabulary,
        read.matrix,
        counts=model.counts if all_distinct else None,
        subwords=model.table,
        name=read.name,
    )


@dataclass(frozen=True)
class _Model:
    """The parts of a model that queries need."""

    words: list[bytes]
    counts: np.ndarray
    inputs: np.ndarray  # float32 (V + buckets, D), memory-mapped
    table: SubwordTable | None  # of the rows of all buckets; None if the model uses no n-grams


class _Reader:
    """A sequential reader that raises ArtifactError on truncated or impossible content."""

    def __init__(self, path: Path, content: Any) -> None:
        self.path, self.content, self.at = path, content, len(MAGIC)

    def model(self) -> _Model:
        """Read the whole file, checking every size against the bytes left."""
        [version] = self.take("<i", "version")
        if version not in _VERSIONS:
            raise ArtifactError(
                f"{self.path}: fastText model of version {version}; only versions "
                f"{' and '.join(map(str, _VERSIONS))} are supported"
            )
        dim, *_, kind, n_buckets, shortest, longest, _, _ = self.take("<12id", "header")
        if kind not in _MODELS or dim < 1 or min(n_buckets, shortest, longest) < 0:
            self.damaged(
                f"says model {kind}, {dim} dimensions, {n_buckets} buckets and n-grams of "
                f"{shortest} to {longest}",
                "header",
            )
        words, counts, n_labels = self.dictionary()
        if kind == _SUPERVISED and version == _VERSIONS[0]:
            longest = 0  # version 11 classifiers ignored their n-gram settings
        offset = self.matrix(len(words) + n_buckets, dim, "table of words and n-grams")
        self.matrix(n_labels if kind == _SUPERVISED else len(words), dim, "output table")
        if self.at != len(self.content):
            self.damaged(
                f"is followed by {len(self.content) - self.at} extra bytes", "end of the model"
            )
        if n_labels:
            note(f"{self.path}: skipped the {n_labels} labels of the model")
        shape = (len(words) + n_buckets, dim)
        inputs = np.memmap(self.path, "<f4", "r", offset, shape)
        table = None
        if n_buckets and longest >= max(shortest, 1):
            table = SubwordTable(
                inputs[len(words) :], None, n_buckets=n_buckets, shortest=max(shortest, 1),
                longest=longest, name=str(self.path),
            )  # fmt: skip
        return _Model(words, counts, inputs, table)

    def dictionary(self) -> tuple[list[bytes], np.ndarray, int]:
        """Read the dictionary; return words, counts and the number of labels after them."""
        size, n_words, n_labels, _, pruned = self.take("<3i2q", "dictionary")
        left = len(self.content) - self.at
        if min(n_words - 1, n_labels) < 0 or size != n_words + n_labels:
            self.damaged(f"says {n_words} words and {n_labels} labels of {size}", "dictionary")
        if size > left // _ENTRY_BYTES:
            self.damaged(f"says {size} entries, but only {left} bytes follow", "dictionary")
        words, counts = [], np.empty(n_words, np.int64)
        for number in range(size):
            word, count = self.entry(number, int(number >= n_words))
            if number < n_words:
                words.append(word)
                counts[number] = count
        if pruned != _UNPRUNED:
            self.quantized()
        return words, counts, n_labels

    def entry(self, number: int, kind: int) -> tuple[bytes, int]:
        """Read one word and its count."""
        end = self.content.find(b"\0", self.at, self.at + _LONGEST_WORD)
        what = f"dictionary's entry {number + 1}"
        if end < 0:
            if len(self.content) - self.at < _LONGEST_WORD:
                self.truncated(what)
            self.damaged(f"does not end within {_LONGEST_WORD} bytes", what)
        word: bytes = self.content[self.at : end]
        start, self.at = self.at, end + 1
        count, found = self.take("<qb", what)
        if found != kind or count < 0 or b"\n" in word:
            self.at = start
            self.damaged(f"says type {found} and count {count}", what)
        return word, count

    def matrix(self, n_rows: int, dim: int, what: str) -> int:
        """Skip a table and return the offset of its first number."""
        quantized, *shape = self.take("<bqq", f"shape of the {what}")
        if quantized == 1:
            self.quantized()
        if quantized or shape != [n_rows, dim]:
            self.damaged(
                f"says {shape[0]} rows of {shape[1]} numbers, expected {n_rows} of {dim}", what
            )
        offset, self.at = self.at, self.at + n_rows * dim * _FLOAT_BYTES
        if self.at > len(self.content):
            self.at = offset
            self.truncated(what)
        return offset

    def take(self, form: str, what: str) -> tuple[Any, ...]:
        """Read numbers of a ``struct`` format."""
        size = struct.calcsize(form)
        if self.at + size > len(self.content):
            self.truncated(what)
        self.at += size
        return struct.unpack_from(form, self.content, self.at - size)

    def truncated(self, what: str) -> NoReturn:
        raise ArtifactError(
            f"{self.path}: truncated within the {what}, which starts at byte {self.at}; "
            "download or create it again"
        )

    def damaged(self, how: str, what: str) -> NoReturn:
        raise ArtifactError(
            f"{self.path}: damaged: the {what}, near byte {self.at}, {how}; download or create it "
            "again"
        )

    def quantized(self) -> NoReturn:
        raise ArtifactError(
            f"{self.path}: quantized fastText models (.ftz) have no exact vectors; "
            "pass the .bin it was made from"
        )


def write_fasttext(vectors: WordVectors, path: Path) -> None:
    """Write a model as fastText does; unused buckets are zero, contexts are its output table."""
    table, run = vectors.subwords, vectors.path
    if vectors.pieces is not None or (table is not None and (run is None or table.buckets is None)):
        raise ArtifactError(
            f"{vectors.name}: format fasttext takes runs with or without n-grams, and plain "
            "vectors; choose another format"
        )
    words, dim = list(vectors.vocabulary), vectors.dim
    refuse_unwritable(words, "fasttext", gaps=" \t\r\n\0")
    options = {} if run is None else Run.open(run).options
    counts = np.ones(len(words), np.int64) if vectors.counts is None else vectors.counts
    n_buckets, grams = 0, (0, 0)
    own: Any = vectors.matrix
    if table is not None and run is not None:
        n_buckets, grams = table.n_buckets, (table.shortest, table.longest)
        own = open_array(run / INPUTS, np.float32, 2)[: len(words)]
    names = {"window": 5, "epochs": 5, "negatives": 5}
    window, epochs, negatives = (int(options.get(name, names[name])) for name in names)
    model = 1 if run is not None and Run.open(run).method == "cbow" else 2
    contexts = np.zeros((len(words), dim), "<f4") if vectors.contexts is None else vectors.contexts
    with open(path, "wb") as file:
        file.write(MAGIC + struct.pack("<i", _VERSIONS[-1]))
        header = dim, window, epochs, 1, negatives, 1, _NEGATIVE_SAMPLING, model, n_buckets, *grams
        file.write(struct.pack("<12id", *header, _UPDATE_RATE, _SUBSAMPLE))
        n_tokens = int(counts.sum())
        file.write(struct.pack("<3i2q", len(words), len(words), 0, n_tokens, _UNPRUNED))
        for word, count in zip(words, counts.tolist(), strict=True):
            file.write(word.encode() + b"\0" + struct.pack("<qb", count, 0))
        file.write(struct.pack("<bqq", 0, len(words) + n_buckets, dim))
        for block in blocks(own):
            file.write(block.astype("<f4").tobytes())
        for first in range(0, n_buckets, _BUCKETS_AT_ONCE):
            assert table is not None
            assert table.buckets is not None
            rows = np.zeros((min(_BUCKETS_AT_ONCE, n_buckets - first), dim), "<f4")
            start, stop = np.searchsorted(table.buckets, (first, first + len(rows)))
            rows[table.buckets[start:stop] - first] = table.rows[start:stop]
            file.write(rows.tobytes())
        file.write(struct.pack("<bqq", 0, len(words), dim))
        for block in blocks(contexts):
            file.write(block.astype("<f4").tobytes())
