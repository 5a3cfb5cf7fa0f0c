"""Tasks of a build on a cluster: each encodes some files, and writes blocks and tables of types."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import load_arrays, offsets_of, open_array, write_array
from firth.corpora.artifacts.artifact import fingerprint
from firth.corpora.artifacts.tasks import Task
from firth.corpora.common.errors import SourceError
from firth.corpora.common.threads import worker_threads
from firth.corpora.encoding.encode import EncodedBlock, parse
from firth.corpora.encoding.keep_text import CompressedText
from firth.corpora.encoding.request import Request
from firth.corpora.encoding.table_pool import TablePool
from firth.corpora.reading.readers import read
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import TextBlock
from firth.corpora.store.corpus import FORMAT

PART_BYTES = 1 << 25  # of stored files encoded by one task, at least: about one shard, as text
_ABOUT = ("source", "fields", "continues", "pretokenized", "counts")  # of a TextBlock


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
    for number, (first, stop) in enumerate(itertools.pairwise([*first_of_part, len(files)])):
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
    """Encode files, writing each block and each table of types; return what is known of them."""
    records: list[dict[str, Any]] = []
    text = request.text.before_lemmas
    store, n_blocks = _TableFolder(folder), 0
    tables = TablePool(replace(request.options, threads=1), store)
    for raw in read(files, request.read, records=records, block_bytes=block_bytes):
        parsed, prepared = parse(raw, text)
        block, table = tables.encode(prepared, text, keep_text=request.options.keep_text)
        _save_block(folder / f"{n_blocks}.npz", block, parsed, table)
        n_blocks += 1
    with worker_threads(1) as thread:
        tables.close_all(thread)
    n_bytes = sum(file.size or 0 for file in files)
    return {"records": records, "bytes": n_bytes, "blocks": n_blocks, "tables": store.n_tables}


class _TableFolder:
    """Writes tables of types in the folder of a part, in the order of their numbers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_tables = 0

    def add(self, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> int:
        """Write a table; return its number."""
        number, self.n_tables = self.n_tables, self.n_tables + 1
        for name, values in {"text": text, "offsets": offsets, "counts": counts}.items():
            write_array(self._folder, f"types-{number}.{name}", values)
        return number


def read_tables(folder: Path, n_tables: int) -> Iterator[list[np.ndarray]]:
    """Yield text, offsets and counts of the tables of a part, in the order of their numbers."""
    for number in range(n_tables):
        names = (f"types-{number}.{name}" for name in ("text", "offsets", "counts"))
        yield [open_array(folder, name) for name in names]


def read_blocks(folder: Path, n_blocks: int) -> Iterator[tuple[EncodedBlock, TextBlock, int]]:
    """Yield the blocks of a part, what is known of their text, and the numbers of their tables."""
    for number in range(n_blocks):
        arrays = load_arrays(folder / f"{number}.npz")
        about = json.loads(arrays["about"].tobytes())
        texts = None
        if "text" in arrays:
            text, bounds = arrays["text"].tobytes(), arrays["text_bounds"].tolist()
            blocks = [text[a:b] for a, b in itertools.pairwise(bounds)]
            texts = CompressedText(blocks, arrays["text_sentences"])
        block = EncodedBlock(
            token_ids=arrays["token_ids"],
            sentences=arrays["sentences"],
            paragraphs=arrays["paragraphs"],
            documents=arrays["documents"],
            keys=arrays["keys"],
            tally=about["tally"],
            texts=texts,
            heads=arrays.get("heads"),
        )
        parsed = TextBlock(
            text=b"",
            documents=np.zeros(1, dtype=np.int64),
            positions=arrays["positions"],
            **{name: about[name] for name in _ABOUT},
        )
        yield block, parsed, about["table"]


def _save_block(path: Path, block: EncodedBlock, parsed: TextBlock, table: int) -> None:
    """Write what a shard gets of a block."""
    about = {name: getattr(parsed, name) for name in _ABOUT}
    about |= {"tally": block.tally, "table": table}
    arrays: dict[str, Any] = {
        name: getattr(block, name)
        for name in ("token_ids", "sentences", "paragraphs", "documents", "keys")
    }
    arrays["positions"] = parsed.positions
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    if block.heads is not None:
        arrays["heads"] = block.heads
    if block.texts is not None:
        arrays["text"] = np.frombuffer(b"".join(block.texts.blocks), dtype=np.uint8)
        arrays["text_bounds"] = offsets_of(map(len, block.texts.blocks))
        arrays["text_sentences"] = block.texts.n_sentences
    with open(path, "wb") as file:  # np.savez(path) would ignore an error on close
        np.savez(file, **arrays)
