"""Tasks of a build on a cluster: each encodes some files, and writes blocks and tables of types."""

import itertools
import json
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import load_arrays, offsets_of, open_array, write_array
from firth.corpora.artifacts.artifact import fingerprint
from firth.corpora.artifacts.tasks import TaskFolder, WorkerTask
from firth.corpora.common.errors import SourceError
from firth.corpora.common.threads import worker_threads
from firth.corpora.encoding.encode import EncodedBlock
from firth.corpora.encoding.keep_text import CompressedText
from firth.corpora.encoding.request import Request
from firth.corpora.encoding.table_pool import Encoded, TableStore, encode_blocks
from firth.corpora.reading.readers import read
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import TextBlock
from firth.corpora.store.corpus import FORMAT

PART_BYTES = 1 << 25  # of stored files encoded by one task, at least: about one shard, as text
_BLOCK_FORMAT = 2  # of the files of a task
_ABOUT = ("source", "fields", "continues", "pretokenized", "counts")  # of a TextBlock
_TYPES = ("text", "offsets", "counts")  # arrays of a table


def refuse_pipes(files: Sequence[SourceFile]) -> None:
    """Raise for a pipe, which a cluster cannot read."""
    for file in files:
        if file.size is None and file.url is None:
            raise SourceError(f"{file.name}: a cluster cannot read from a pipe; pass a file")


def encode_parts(
    tasks: TaskFolder,
    files: Sequence[SourceFile],
    request: Request,
    store: TableStore,
    threads: Executor,
    records: list[dict[str, Any]],
    part_bytes: int,
    block_bytes: int,
) -> Iterator[Encoded]:
    """Encode parts of the files by tasks and yield their blocks in order.

    ``records`` gets the findings of each file; all tables are in the store after the last block.
    """
    parts = _divide(files, request, part_bytes, block_bytes)
    complete: dict[int, tuple[dict[str, Any], Future[None]]] = {}
    following = 0
    for number, result in tasks.run(parts):
        folder = tasks.path_of(parts[number])
        added = threads.submit(_add_tables, store, number, folder, result["tables"])
        complete[number] = result, added
        while following in complete:
            result, added = complete.pop(following)
            added.result()
            records += result["records"]
            for block in range(result["blocks"]):
                path = tasks.path_of(parts[following]) / f"{block}.npz"
                encoded = _read_block(path)
                yield encoded._replace(table=(following, encoded.table))
            following += 1


def _divide(
    files: Sequence[SourceFile], request: Request, part_bytes: int, block_bytes: int
) -> list[WorkerTask]:
    """Divide files into parts of a size that does not depend on the workers."""
    sizes = offsets_of(file.size or 0 for file in files)
    first_of_part = np.unique(sizes[:-1] // part_bytes, return_index=True)[1].tolist()
    # a file alone in its part may be empty; a relative path means another file to a worker
    files = [
        replace(file, path=file.path and file.path.absolute(), named=file.named and len(files) == 1)
        for file in files
    ]
    options = replace(request.options, threads=1)
    request = replace(request, options=options, metadata=None)  # it is joined with their blocks
    tasks = []
    for number, (first, stop) in enumerate(itertools.pairwise([*first_of_part, len(files)])):
        part = files[first:stop]
        about = [{**asdict(file), "path": str(file.path)} for file in part]
        settings = request.settings(), request.options.keep_text, block_bytes
        key = fingerprint([FORMAT, _BLOCK_FORMAT, *settings, about])
        name, arguments = f"encode-{number:05}", (part, request, block_bytes)
        tasks.append(WorkerTask(name, encode_part, arguments, key))
    return tasks


def encode_part(
    folder: Path, files: Sequence[SourceFile], request: Request, block_bytes: int
) -> dict[str, Any]:
    """Encode files, writing each block and each table of types; return what is known of them."""
    records: list[dict[str, Any]] = []
    raws = read(files, request.read, records=records, block_bytes=block_bytes)
    store, n_blocks = _TableFolder(folder), 0
    with worker_threads(1) as thread:
        for encoded in encode_blocks(raws, request, store, thread, thread, block_bytes):
            _save_block(folder / f"{n_blocks}.npz", encoded)
            n_blocks += 1
    return {"records": records, "blocks": n_blocks, "tables": store.n_tables}


class _TableFolder:
    """Writes tables of types in the folder of a part, by their numbers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_tables = 0

    def add(
        self, table: Hashable, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray
    ) -> None:
        """Write a table."""
        self.n_tables += 1
        for name, values in zip(_TYPES, (text, offsets, counts), strict=True):
            write_array(self._folder, f"types-{table}.{name}", values)


def _add_tables(store: TableStore, part: int, folder: Path, n_tables: int) -> None:
    """Add the tables of a part to those of all parts."""
    for number in range(n_tables):
        arrays = (open_array(folder, f"types-{number}.{name}") for name in _TYPES)
        store.add((part, number), *arrays)


def _save_block(path: Path, encoded: Encoded) -> None:
    """Write what a shard gets of a block."""
    block, text = encoded.block, encoded.text
    about = {name: getattr(text, name) for name in _ABOUT}
    about |= {"tally": block.tally, "table": encoded.table, "consumed": encoded.consumed}
    arrays: dict[str, Any] = {"positions": text.positions, **_arrays_of(block)}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    if block.texts is not None:
        arrays |= {f"texts.{name}": values for name, values in _arrays_of(block.texts).items()}
    with open(path, "wb") as file:  # np.savez(path) would ignore an error on close
        np.savez(file, **arrays)


def _arrays_of(block: EncodedBlock | CompressedText) -> dict[str, np.ndarray]:
    """Return the arrays among the attributes."""
    return {name: value for name, value in vars(block).items() if isinstance(value, np.ndarray)}


def _read_block(path: Path) -> Encoded:
    """Read what a shard gets of a block."""
    arrays = load_arrays(path)
    about = json.loads(arrays.pop("about").tobytes())
    text = TextBlock(
        text=b"",
        documents=np.zeros(1, dtype=np.int64),
        positions=arrays.pop("positions"),
        **{name: about[name] for name in _ABOUT},
    )
    names = [name for name in arrays if name.startswith("texts.")]
    kept = {name.removeprefix("texts."): arrays.pop(name) for name in names}
    texts = CompressedText(**kept) if kept else None
    block = EncodedBlock(**arrays, tally=about["tally"], texts=texts)
    return Encoded(block, text, about["table"], about["consumed"])
