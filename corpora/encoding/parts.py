"""Tasks of a build on a cluster: one encodes files into blocks, another writes a shard of them.

What they do with a block is what a build on one machine does; only the order of the work differs.
"""

import collections
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import load_arrays, offsets_of, open_array, write_array
from firth.corpora.artifacts.artifact import fingerprint
from firth.corpora.artifacts.tasks import Task
from firth.corpora.common.errors import SourceError
from firth.corpora.common.threads import worker_threads
from firth.corpora.encoding.encode import EncodedBlock, encode, parse
from firth.corpora.encoding.encode_kernels import count_documents, renumber
from firth.corpora.encoding.keep_text import CompressedText
from firth.corpora.encoding.request import Request
from firth.corpora.encoding.shard_writer import ShardWriter
from firth.corpora.encoding.table_pool import TablePool
from firth.corpora.encoding.type_table import TypeTable
from firth.corpora.reading.readers import read
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import TextBlock
from firth.corpora.store.corpus import FORMAT
from firth.corpora.store.shards import FORMS

PART_BYTES = 1 << 25  # of stored files encoded by one task, at least: about one shard, as text


@dataclass
class PlannedShard:
    """A shard that a worker will write."""

    directory: Path
    # of each block: folder, number in it, run of its types, source, whether it continues a document
    blocks: list[tuple[Path, int, int, int, bool]] = field(default_factory=list)
    n_tokens: int = 0
    segments: list[tuple[int, int, int]] = field(default_factory=list)  # as of ShardWriter

    def close(self) -> dict[str, Any]:
        """Do nothing: the worker closes it and returns the entry."""
        return {}

    def discard(self) -> None:
        """Do nothing: no file is open."""


def encoding_tasks(
    files: Sequence[SourceFile], request: Request, part_bytes: int, block_bytes: int
) -> list[Task]:
    """Divide files into parts of a size that does not depend on the workers."""
    for file in files:
        if file.size is None and file.url is None:
            raise SourceError(f"{file.name}: a cluster cannot read from a pipe; pass a file")
    sizes = offsets_of(file.size or 0 for file in files)
    first_of_part = np.unique(sizes[:-1] // part_bytes, return_index=True)[1].tolist()
    # a file alone in its part may be empty; a relative path means another file to a worker
    files = [
        replace(file, path=file.path and file.path.absolute(), named=file.named and len(files) == 1)
        for file in files
    ]
    tasks = []
    for number, (first, stop) in enumerate(
        zip(first_of_part, [*first_of_part[1:], len(files)], strict=True)
    ):
        part = files[first:stop]
        about = [{**asdict(file), "path": str(file.path)} for file in part]
        settings = request.settings(), request.options.keep_text, block_bytes
        key = fingerprint([FORMAT, *settings, about])
        name, arguments = f"encode-{number:05}", (part, request, block_bytes)
        tasks.append(Task(name, encode_part, arguments, key))
    return tasks


def encode_part(
    folder: Path, files: Sequence[SourceFile], request: Request, block_bytes: int
) -> dict[str, Any]:
    """Encode files, writing each block and each table of types; return what is to know of them."""
    records: list[dict[str, Any]] = []
    blocks: list[list[Any]] = []
    tally: collections.Counter[str] = collections.Counter()
    n_tables = 0

    def close(number: int, table: TypeTable) -> None:
        nonlocal n_tables
        for name, values in zip(
            _table(number), (table.text, table.offsets, table.counts()), strict=True
        ):
            write_array(folder, name, values)
        n_tables += 1

    text = request.text.before_lemmas
    tables = TablePool(replace(request.options, threads=1), close)
    for raw in read(files, request.read, records=records, block_bytes=block_bytes):
        parsed, prepared = parse(raw, text)
        number, table = tables.take()
        block = encode(prepared, text, table, keep_text=request.options.keep_text)
        tables.put_back(number, table)
        _save_block(folder / f"{len(blocks)}.npz", block, parsed)
        about = len(block.token_ids), number, parsed.source, parsed.continues, parsed.pretokenized
        blocks.append([*about])
        tally.update(block.tally)
        tally.update(parsed.counts)
    with worker_threads(1) as thread:
        tables.close_all(thread)
    n_bytes = sum(file.size or 0 for file in files)
    return {
        "records": records, "blocks": blocks, "tally": tally, "tables": n_tables, "bytes": n_bytes,
    }  # fmt: skip


def read_table(folder: Path, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return text, offsets and counts of a table of types that a part has written."""
    text, offsets, counts = (open_array(folder, name) for name in _table(number))
    return text, offsets, counts


def write_shard(
    folder: Path,
    name: str,
    blocks: Sequence[tuple[Path, int, int, int, bool]],
    ids: Path,
    lemmatized: bool,
    n_types: int,
) -> dict[str, Any]:
    """Write one shard with final ids, and the documents of each of its types; return its entry."""
    writer = ShardWriter(folder / name)
    for part, number, run, source, continues in blocks:
        block, positions, fields = _read_block(part / f"{number}.npz")
        writer.append(block, run, source, positions, fields, continues)
    entry = writer.close()
    runs = {run: np.array(open_array(ids, str(run))) for run in {block[2] for block in blocks}}
    lemma_of_form = open_array(ids, FORMS) if lemmatized else None
    documents, last_seen = np.zeros((2, n_types), dtype=np.int64)
    renumber_shard(writer.directory, writer.segments, runs, lemma_of_form, documents, last_seen)
    types = np.flatnonzero(documents)
    write_array(folder, "types", types)
    write_array(folder, "documents", documents[types])
    return entry


def renumber_shard(
    directory: Path,
    segments: Sequence[tuple[int, int, int]],
    new_ids: dict[int, np.ndarray],
    lemma_of_form: np.ndarray | None,
    document_counts: np.ndarray,
    last_seen: np.ndarray,
) -> None:
    """Replace the ids of each segment's table by final ones; add the documents of each type."""
    # document_counts, last_seen: int64 (n_types,); of the second the contents are overwritten
    ids = open_array(directory, "ids", writable=True)
    for first, stop, table in segments:
        renumber(ids[first:stop], new_ids[table])
    if lemma_of_form is not None:
        write_array(directory, FORMS, ids)
        renumber(ids, lemma_of_form)
    last_seen.fill(-1)
    count_documents(ids, open_array(directory, "documents"), last_seen, document_counts)


def add_documents(folders: Sequence[Path], n_types: int) -> np.ndarray:
    """Return the documents of each type, int64 (n_types,), from the folders of all shards."""
    documents = np.zeros(n_types, dtype=np.int64)
    for folder in folders:
        documents[open_array(folder, "types")] += open_array(folder, "documents")
    return documents


def _table(number: int) -> Iterator[str]:
    """Yield the names of the arrays of a table of types."""
    return (f"types-{number}.{name}" for name in ("text", "offsets", "counts"))


def _save_block(path: Path, block: EncodedBlock, parsed: TextBlock) -> None:
    """Write what a shard gets of a block."""
    arrays: dict[str, Any] = {
        "ids": block.token_ids,
        "sentences": block.sentences,
        "paragraphs": block.paragraphs,
        "documents": block.documents,
        "keys": block.keys,
        "positions": parsed.positions,
        "fields": np.frombuffer(json.dumps(parsed.fields).encode(), dtype=np.uint8),
    }
    if block.heads is not None:
        arrays["heads"] = block.heads
    if block.texts is not None:
        arrays["text"] = np.frombuffer(b"".join(block.texts.blocks), dtype=np.uint8)
        arrays["text_bounds"] = offsets_of(map(len, block.texts.blocks))
        arrays["text_sentences"] = block.texts.n_sentences
    with open(path, "wb") as file:  # np.savez(path) would ignore an error on close
        np.savez(file, **arrays)


def _read_block(path: Path) -> tuple[EncodedBlock, np.ndarray, dict[str, list[str]]]:
    """Return a block, its positions and its kept fields."""
    arrays = load_arrays(path)
    texts = None
    if "text" in arrays:
        text, bounds = arrays["text"].tobytes(), arrays["text_bounds"].tolist()
        blocks = [text[a:b] for a, b in itertools.pairwise(bounds)]
        texts = CompressedText(blocks, arrays["text_sentences"])
    block = EncodedBlock(
        token_ids=arrays["ids"],
        sentences=arrays["sentences"],
        paragraphs=arrays["paragraphs"],
        documents=arrays["documents"],
        keys=arrays["keys"],
        tally={},
        texts=texts,
        heads=arrays.get("heads"),
    )
    return block, arrays["positions"], json.loads(arrays["fields"].tobytes())
