"""Building a corpus: a map over blocks into token ids, then one reduction of the types.

Blocks are read in order, encoded by threads that each own a type table, and
written in order. Then the tables are merged, types numbered by count, and the
ids on disk renumbered. Nothing depends on which thread took which block.
"""

import queue
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.arrays import open_array, write_array
from corpora.artifacts.artifact import fingerprint, new_artifact, write_json
from corpora.artifacts.provenance import now, provenance
from corpora.build.encode import EncodedBlock, PreparedBlock, encode, prepare
from corpora.build.encode_kernels import count_documents, renumber
from corpora.build.held_out import HeldOut, held_out_sizes
from corpora.build.processes import worker_processes
from corpora.build.request import Request
from corpora.build.shard_writer import SHARD_TOKENS, ShardWriter
from corpora.build.table_pool import TablePool
from corpora.build.type_table import TypeTable
from corpora.build.vocabulary_writer import TypeRuns, write_readable
from corpora.common.console import Progress, no_progress
from corpora.common.errors import SourceError
from corpora.common.memory import parse_memory
from corpora.reading.readers import Digests, read
from corpora.reading.sources import SourceFile, source_files
from corpora.reading.text_blocks import BLOCK_BYTES, RawBlock, TextBlock
from corpora.store.corpus import FORMAT, MANIFEST, Corpus
from corpora.store.shards import Shard
from corpora.text.segment import TextSettings

SCRATCH = "scratch"


@dataclass(frozen=True)
class _Encoded:
    """What a worker gives back for one block."""

    block: EncodedBlock
    about: TextBlock
    table: int
    consumed: int


def build_corpus(
    request: Request,
    out: Path,
    *,
    force: bool = False,
    progress: Progress = no_progress,
    shard_tokens: int = SHARD_TOKENS,
    block_bytes: int = BLOCK_BYTES,
) -> Corpus:
    """Encode sources into a corpus directory."""
    started = now()
    files = source_files(request.sources, exclude=out)
    maker = {"command": "build-corpus", "settings": request.settings()}
    with new_artifact(out, maker, force=force) as directory:
        manifest = _Builder(directory, request, files, progress, shard_tokens, block_bytes).run()
        write_json(directory / MANIFEST, manifest)
        run_info = provenance(started, threads=request.options.n_threads)
        write_json(directory / "provenance.json", run_info)
    return Corpus.open(out)


class _Builder:
    """One build, from sources to manifest."""

    def __init__(
        self,
        directory: Path,
        request: Request,
        files: list[SourceFile],
        progress: Progress,
        shard_tokens: int,
        block_bytes: int,
    ) -> None:
        self.directory = directory
        self.request = request
        self.options = request.options
        self.text = request.text
        self.progress = progress
        self.shard_tokens = shard_tokens
        self.block_bytes = block_bytes
        self.files = files
        self.digests = Digests()
        sizes = [file.size for file in files if file.size is not None]
        self.n_bytes = sum(sizes) if len(sizes) == len(files) else None  # a pipe has no size
        self.n_consumed = 0
        self.tally: Counter[str] = Counter()
        self.runs = TypeRuns(directory / SCRATCH)
        self.run_of_table: dict[int, int] = {}
        self.shards: list[ShardWriter] = []
        self.entries: list[dict[str, Any]] = []
        self.source_numbers: dict[str, int] = {}
        self.given: bool | None = None
        self.held_out = HeldOut(self.options.held_out)

    def run(self) -> dict[str, Any]:
        """Map, reduce, describe."""
        try:
            return self._run()
        except BaseException:
            self.runs.discard()
            for shard in self.shards:
                shard.discard()
            raise

    def _run(self) -> dict[str, Any]:
        """The stages in order."""
        with ThreadPoolExecutor(self.options.n_threads) as threads:
            tables = TablePool(self.options, self._close_table)
            self._map(threads, tables)
            tables.close_all(threads)
            self._refuse_empty()
            new_ids = self.runs.merge(self.directory / "vocabulary", self.options.max_types)
            self._renumber(threads, new_ids)
        shards = [Shard(writer.directory) for writer in self.shards]
        self.held_out.settle(shards)
        write_readable(self.directory / "vocabulary", self.directory / "vocabulary.tsv")
        for path in (self.directory / SCRATCH).iterdir():
            path.unlink()
        (self.directory / SCRATCH).rmdir()
        return self._manifest()

    def _map(self, threads: ThreadPoolExecutor, tables: TablePool) -> None:
        """Encode blocks on threads, write them in order."""
        waiting: deque[Future[_Encoded]] = deque()
        with ExitStack() as stack:
            processes = stack.enter_context(worker_processes(self.options.n_threads))
            for raw in read(
                self.files, self.request.read, digests=self.digests, block_bytes=self.block_bytes
            ):
                prepared: Future[tuple[TextBlock, PreparedBlock]] | None = None
                if raw.heavy or self.text.segmenter == "jieba":
                    prepared = processes.submit(_parse, raw, self.text)
                waiting.append(threads.submit(self._encode, raw, prepared, tables))
                while len(waiting) > 2 * self.options.n_threads:
                    self._write(waiting.popleft().result())
            while waiting:
                self._write(waiting.popleft().result())
        if self.shards:
            self.entries.append(self.shards[-1].close())

    def _encode(
        self,
        raw: RawBlock,
        prepared: Future[tuple[TextBlock, PreparedBlock]] | None,
        tables: TablePool,
    ) -> _Encoded:
        """One block, on one thread, into the table that this thread takes."""
        about, block = prepared.result() if prepared else _parse(raw, self.text)
        number, table = tables.take()
        try:
            encoded = encode(block, self.text, self.options.held_out, table)
        finally:
            tables.put_back(number, table)
        return _Encoded(encoded, about, number, raw.consumed)

    def _write(self, done: _Encoded) -> None:
        """Append one block to the shard, beginning a new one between documents."""
        about = done.about
        self._check_given(about)
        full = self.shards and self.shards[-1].n_tokens >= self.shard_tokens
        if not self.shards or (full and not about.continues):
            self._next_shard()
        self.held_out.note(done.block.keys, about.continues, self.shards)
        source = self.source_numbers.setdefault(about.source, len(self.source_numbers))
        self.shards[-1].append(
            done.block, done.table, source, about.positions, about.fields, about.continues
        )
        self.tally.update(done.block.tally)
        self.tally.update(about.counts)
        self.n_consumed += done.consumed
        self.progress(self.n_consumed, self.n_bytes)

    def _check_given(self, about: TextBlock) -> None:
        """Given tokens and running text would be divided by different rules."""
        if about.pretokenized and self.text.segmenter in ("characters", "jieba"):
            raise SourceError(
                f"{about.source}: its tokens are given (CoNLL-U), so "
                f"`segmenter={self.text.segmenter}` has nothing to divide; leave it out"
            )
        if self.given is None:
            self.given = about.pretokenized
        if self.given != about.pretokenized and self.text.segmenter != "whitespace":
            raise SourceError(
                f"{about.source}: mixes given tokens (CoNLL-U) with running text; "
                "build two corpora or pass `segmenter=whitespace`"
            )

    def _next_shard(self) -> None:
        """Close the shard and begin another."""
        if self.shards:
            self.entries.append(self.shards[-1].close())
        directory = self.directory / "shards" / f"{len(self.shards):05}"
        self.shards.append(ShardWriter(directory))

    def _close_table(self, number: int, table: TypeTable) -> None:
        """Write a table to disk as a sorted run."""
        self.run_of_table[number] = self.runs.add(table)

    def _refuse_empty(self) -> None:
        """A corpus without a word is none."""
        if sum(entry["tokens"] for entry in self.entries) == 0:
            names = ", ".join(map(str, self.request.sources))
            raise SourceError(f"{names}: there is no word in it; name a source that holds text")

    def _renumber(self, threads: ThreadPoolExecutor, new_ids: list[np.ndarray]) -> None:
        """Give every token its final id, and count the documents of each type."""
        counts = open_array(self.directory / "vocabulary", "counts")
        shards = queue.SimpleQueue[ShardWriter]()
        for shard in self.shards:
            shards.put(shard)

        def work(_: int) -> np.ndarray:
            document_counts = np.zeros(len(counts), dtype=np.int64)
            while True:
                try:
                    shard = shards.get_nowait()
                except queue.Empty:
                    return document_counts
                ids = open_array(shard.directory, "ids", writable=True)
                for first, stop, table in shard.segments:
                    renumber(ids[first:stop], new_ids[self.run_of_table[table]])
                last_seen = np.full(len(counts), -1, dtype=np.int64)
                documents = open_array(shard.directory, "documents")
                count_documents(ids, documents, last_seen, document_counts)

        # each worker holds two arrays over all types; a huge vocabulary gets fewer workers
        budget = parse_memory(self.options.memory) // 4
        n_workers = max(1, min(self.options.n_threads, budget // max(16 * len(counts), 1)))
        total = sum(threads.map(work, range(n_workers)))
        write_array(self.directory / "vocabulary", "document_counts", np.asarray(total))

    def _manifest(self) -> dict[str, Any]:
        """Describe the corpus: settings, sizes, sources, arrays."""
        text = self.text.to_json()
        if self.given:
            text["segmenter"] = "whitespace"  # how a query over given tokens is divided
        settings = self.request.settings()
        sources = self._sources()
        content = [source["sha256"] for source in sources]
        sizes = [name for name in self.entries[0] if name != "name"]
        return {
            "format": FORMAT,
            "fingerprint": fingerprint([FORMAT, content, settings]),
            "text": text,
            **{name: sum(entry[name] for entry in self.entries) for name in sizes},
            "types": len(open_array(self.directory / "vocabulary", "counts")),
            **held_out_sizes(Shard(writer.directory) for writer in self.shards),
            "tally": dict(sorted(self.tally.items())),
            "settings": settings,
            "sources": sources,
            "document_sources": list(self.source_numbers),
            "shards": self.entries,
            "arrays": _array_list(self.directory),
        }

    def _sources(self) -> list[dict[str, Any]]:
        """Name, size, time and digest of every file that was read."""
        return [
            {
                "name": file.name,
                "size": file.size,
                "mtime_ns": file.mtime_ns,
                "sha256": digest,
            }
            for file, digest in zip(self.files, self.digests.all(), strict=True)
        ]


def _parse(raw: RawBlock, text: TextSettings) -> tuple[TextBlock, PreparedBlock]:
    """Parse and prepare one block; runs on a thread or in another process."""
    block = raw.parse()
    return block, prepare(block, text)


def _array_list(directory: Path) -> dict[str, dict[str, Any]]:
    """Name, type and length of every array; their checksums stand in checksums.json."""
    arrays = {}
    for path in sorted(directory.rglob("*.npy")):
        values = open_array(path.parent, path.stem)
        name = path.relative_to(directory).as_posix()
        arrays[name] = {"dtype": str(values.dtype), "length": len(values)}
    return arrays
