"""Builds a corpus: blocks are mapped to token ids, then the types are reduced to a vocabulary.

Blocks are encoded by threads that each hold a type table, or by the workers of a cluster, and
written in the order of the text. Then the tables are merged, types numbered by count, and the ids
on disk renumbered. The result does not depend on which thread or worker encodes which block.
"""

import queue
import shutil
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import open_array, write_array
from firth.corpora.artifacts.artifact import (
    SCRATCH,
    clear_partial,
    fingerprint,
    new_artifact,
    refuse_existing,
    write_json,
)
from firth.corpora.artifacts.provenance import now, provenance
from firth.corpora.artifacts.tasks import TaskFolder
from firth.corpora.common.errors import SourceError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.common.system import unmap_unused
from firth.corpora.common.threads import worker_threads
from firth.corpora.encoding.encode_kernels import count_documents, renumber
from firth.corpora.encoding.held_out import hold_out
from firth.corpora.encoding.language import with_language
from firth.corpora.encoding.metadata import MetadataJoin
from firth.corpora.encoding.parts import PART_BYTES, encode_parts, refuse_pipes
from firth.corpora.encoding.phrases import find_phrases, join_phrases, write_joined
from firth.corpora.encoding.processes import worker_processes
from firth.corpora.encoding.readable import check_readable
from firth.corpora.encoding.request import Request
from firth.corpora.encoding.shard_writer import SHARD_TOKENS, ShardWriter
from firth.corpora.encoding.table_pool import Encoded, encode_blocks, most_at_once
from firth.corpora.encoding.vocabulary_writer import TypeRuns, write_lemmas, write_tsv
from firth.corpora.encoding.walks import WalkedGraph
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.reading.readers import read
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock
from firth.corpora.store.corpus import FORMAT, MANIFEST, Corpus
from firth.corpora.store.shards import FORMS, Shard
from firth.corpora.store.vocabulary import Vocabulary


def encode_corpus(
    request: Request,
    out: Path,
    *,
    force: bool = False,
    executor: Executor | None = None,
    progress: Progress = no_progress,
    shard_tokens: int = SHARD_TOKENS,
    block_bytes: int = BLOCK_BYTES,
    part_bytes: int = PART_BYTES,
) -> Corpus:
    """Encode sources into the corpus directory ``out``, written as ``out.partial`` until complete.

    The bytes of its arrays depend on sources and settings alone, not on threads, memory or
    ``executor``, which runs a task for each ``part_bytes`` of source. A shard ends with the first
    document that brings it to ``shard_tokens``; ``progress`` receives bytes of source done, and in
    all (None for pipes).
    """
    started = now()
    maker = {"command": "build-corpus", "settings": request.settings()}
    all_files = request.files(out)
    refuse_existing(out, force)  # before all files are read
    most = most_at_once(request.options, block_bytes)
    unreadable = check_readable(all_files, request.read, most_bytes=most, progress=progress)
    files = [file for file in all_files if file not in unreadable]
    resume = SCRATCH if executor else None
    with new_artifact(out, maker, force=force, resume=resume) as directory:
        builder = _Builder(directory, request, files, progress, shard_tokens, block_bytes)
        tasks = None
        if executor:
            clear_partial(directory, SCRATCH)
            tasks = TaskFolder(executor, directory / SCRATCH / "tasks")
        manifest = builder.run(tasks, part_bytes)
        read_files = dict(zip(files, manifest["sources"], strict=True))
        manifest["sources"] = [
            read_files.get(file) or _record(file, unreadable=unreadable[file]) for file in all_files
        ]
        cpus = {"cluster": sorted(tasks.cpus)} if tasks else {}
        _write_about(directory, manifest, started, request, **cpus)
    return Corpus.open(out)


def build_sample(
    request: Request, out: Path, blocks: Iterable[RawBlock] = (), graph: WalkedGraph | None = None
) -> Corpus:
    """Encode some blocks of the sources of a request, or walks, as :func:`encode_corpus` does."""
    started = now()
    with new_artifact(out, {"command": "build-corpus"}) as directory:
        request = replace(request, metadata=None)  # a part of the documents fits no table
        builder = _Builder(
            directory, request, [], no_progress, SHARD_TOKENS, BLOCK_BYTES, blocks, graph
        )
        _write_about(directory, builder.run(), started, request)
    return Corpus.open(out)


def _write_about(
    directory: Path, manifest: dict[str, Any], started: datetime, request: Request, **about: Any
) -> None:
    """Write the manifest and the provenance."""
    write_json(directory / MANIFEST, manifest)
    run_info = provenance(started, threads=request.options.n_threads, **about)
    write_json(directory / "provenance.json", run_info)


class _Builder:
    """The state of one build."""

    def __init__(
        self,
        directory: Path,
        request: Request,
        files: list[SourceFile],
        progress: Progress,
        shard_tokens: int,
        block_bytes: int,
        blocks: Iterable[RawBlock] | None = None,
        graph: WalkedGraph | None = None,
    ) -> None:
        table = request.metadata
        self.join = MetadataJoin(table, [file.name for file in files]) if table else None
        self.directory = directory
        self.request = request
        self.graph = graph  # read from the source, if None
        self.options = request.options
        self.text = request.text
        self.progress = progress
        self.shard_tokens = shard_tokens
        self.files = files
        self.records: list[dict[str, Any]] = []  # of the files read to their ends
        self.block_bytes = block_bytes
        self.blocks = blocks or read(
            files, request.read, records=self.records, block_bytes=block_bytes,
            most_bytes=most_at_once(request.options, block_bytes),
        )  # fmt: skip
        sizes = [file.size for file in files if file.size is not None]
        self.n_bytes = sum(sizes) if len(sizes) == len(files) else None  # a pipe has no size
        self.n_consumed = 0
        self.tally: Counter[str] = Counter()
        self.runs = TypeRuns(directory / SCRATCH)
        self.shards: list[ShardWriter] = []
        self.entries: list[dict[str, Any]] = []
        self.source_numbers: dict[str, int] = {}
        self.pretokenized: bool | None = None
        self.phrases: list[dict[str, int]] = []  # types and tokens that each pass joined
        self.joined_phrases: list[str] = []  # as of TextSettings
        self.held_out: dict[str, Any] = {}  # what the manifest says about the held-out slice

    def run(self, tasks: TaskFolder | None = None, part_bytes: int = PART_BYTES) -> dict[str, Any]:
        """Build everything and return the manifest; discard open files on failure."""
        try:
            with worker_threads(self.options.n_threads, wait_on_error=True) as threads:
                self._encode(tasks, part_bytes, threads)
                self._close_shard()
                if not any(shard.n_tokens for shard in self.shards):
                    names = ", ".join(map(str, self.request.sources))
                    reason = "contains no words; pass a source that contains text"
                    if pattern := self.request.text.pattern:
                        reason = f"contains no token that `pattern={pattern}` matches; correct it"
                    raise SourceError(f"{names}: {reason}")
                ids_of_table, lemma_of_form = self._merge()
                self._renumber(threads, ids_of_table, lemma_of_form)
                if self.graph:
                    self.graph.save(self.directory, ids_of_table)
                for left in reversed(range(self.request.n_phrase_passes)):
                    self._join_phrases(threads, last=left == 0)
        except BaseException:
            self.runs.discard()
            for shard in self.shards:
                shard.discard()
            raise
        shards = [Shard(writer.directory) for writer in self.shards]
        self.held_out = hold_out(shards, self.options.held_out)
        write_tsv(self.directory / "vocabulary", self.directory / "vocabulary.tsv")
        unmap_unused()
        shutil.rmtree(self.directory / SCRATCH)  # with the tasks of a cluster
        return self._manifest()

    def _encode(
        self, tasks: TaskFolder | None, part_bytes: int, threads: ThreadPoolExecutor
    ) -> None:
        """Encode the sources, by tasks or else on threads, and write their blocks in order."""
        if self.request.walks:
            self._write_all(self._walk(self.request.walks, threads))
            return
        blocks = iter(self.blocks)
        if tasks:
            refuse_pipes(self.files)
            blocks = read(self.files, self.request.read, block_bytes=self.block_bytes)
        blocks, self.text = with_language(blocks, self.text)
        request = replace(self.request, text=self.text)
        with worker_processes(self.options.n_threads) as parsers:
            if tasks:
                encoded = encode_parts(
                    tasks, self.files, request, self.runs, threads, self.records, part_bytes,
                    self.block_bytes,
                )  # fmt: skip
            else:
                encoded = encode_blocks(
                    blocks, request, self.runs, threads, parsers, self.block_bytes
                )
            self._write_all(encoded)

    def _walk(self, options: WalkOptions, threads: ThreadPoolExecutor) -> Iterator[Encoded]:
        """Return the walks over the graph as blocks."""
        if self.graph is None:
            self.graph = WalkedGraph(self.files[0], options, self.request.read)
            self.records.append({"sha256": self.graph.sha256})
        self.n_bytes = self.graph.n_tokens  # so that the progress is that of tokens
        return self.graph.encoded(self.runs, threads, self.options.n_threads)

    def _write_all(self, encoded: Iterable[Encoded]) -> None:
        """Write blocks, and report the progress."""
        for block in encoded:
            self._write(block)
            self.n_consumed += block.consumed
            self.progress(self.n_consumed, self.n_bytes)

    def _write(self, encoded: Encoded) -> None:
        """Append one block to the current shard; a full shard ends at the next document start."""
        text = encoded.text
        if self.join:
            encoded = encoded._replace(text=replace(text, fields=self.join.fields(text)))
        full = self.shards and self.shards[-1].n_tokens >= self.shard_tokens
        if not self.shards or (full and not text.continues):
            self._close_shard()
            name = f"{len(self.shards):05}"
            self.shards.append(ShardWriter(self.directory / "shards" / name))
        if text.pretokenized is not None:
            self._check_pretokenized(text.source, text.pretokenized)
        source = self.source_numbers.setdefault(text.source, len(self.source_numbers))
        self.shards[-1].append(encoded, source)
        self.tally.update(encoded.block.tally)
        self.tally.update(text.counts)

    def _check_pretokenized(self, source: str, pretokenized: bool) -> None:
        """Raise if one corpus would mix two ways of segmentation."""
        if pretokenized and self.text.segmenter in ("characters", "jieba"):
            raise SourceError(
                f"{source}: already tokenized, so `segmenter={self.text.segmenter}` does not "
                "apply; drop it"
            )
        if pretokenized and self.text.pattern is not None:
            raise SourceError(
                f"{source}: already tokenized, so `pattern={self.text.pattern}` does not apply; "
                "drop it"
            )
        if pretokenized and self.text.lemmatize:
            raise SourceError(
                f"{source}: already tokenized, so `lemmatize={self.text.lemmatize}` does not "
                "apply; drop it (`field=lemma` reads the lemmas of CoNLL-U and vertical files)"
            )
        if self.pretokenized is None:
            self.pretokenized = pretokenized
        if self.pretokenized != pretokenized and self.text.segmenter not in (
            "whitespace",
            "tokens",
        ):
            raise SourceError(
                f"{source}: mixes tokenized text with plain text; "
                "build two corpora or pass `segmenter=whitespace`"
            )

    def _close_shard(self) -> None:
        """Close the current shard, if there is one."""
        if self.shards:
            self.entries.append(self.shards[-1].finish())

    def _merge(self) -> tuple[dict[Hashable, np.ndarray], np.ndarray | None]:
        """Write the vocabulary; return final ids by table: of types, or of forms and lemmas."""
        words, max_types = self.directory / "vocabulary", self.options.max_types
        if self.request.phrases:
            max_types = None  # rare words may be parts of phrases; the last pass leaves words out
        if not self.text.lemmatize:
            return self.runs.merge(words, max_types), None
        new_ids = self.runs.merge(self.directory / FORMS, None)
        self.runs = TypeRuns(self.directory / SCRATCH / "lemmas")
        forms = Vocabulary(self.directory / FORMS)
        return new_ids, write_lemmas(words, self.runs, forms, self.text.lemma, max_types)

    def _renumber(
        self,
        threads: ThreadPoolExecutor,
        ids_of_table: dict[Hashable, np.ndarray],
        lemma_of_form: np.ndarray | None,
    ) -> None:
        """Replace table ids by final ids, and count the documents of each type."""
        counts = open_array(self.directory / "vocabulary", "counts")
        # each worker has two arrays over all types, so a huge vocabulary gets fewer workers
        budget = parse_memory(self.options.memory) // 4
        n_workers = max(1, min(self.options.n_threads, budget // max(16 * len(counts), 1)))
        arrays = queue.SimpleQueue[np.ndarray]()  # int64 (2, V): documents, and the last one seen
        for _ in range(n_workers):
            arrays.put(np.zeros((2, len(counts)), dtype=np.int64))

        def work(shard: ShardWriter) -> None:
            documents, last_seen = taken = arrays.get()
            try:
                ids = open_array(shard.directory, "ids", writable=True)
                for first, stop, table in shard.segments:
                    renumber(ids[first:stop], ids_of_table[table])
                if lemma_of_form is not None:
                    write_array(shard.directory, FORMS, ids)
                    renumber(ids, lemma_of_form)
                last_seen.fill(-1)
                count_documents(ids, open_array(shard.directory, "documents"), last_seen, documents)
            finally:
                arrays.put(taken)

        for _ in threads.map(work, self.shards):
            pass
        total = sum(arrays.get()[0] for _ in range(n_workers))
        write_array(self.directory / "vocabulary", "document_counts", np.asarray(total))

    def _join_phrases(self, threads: ThreadPoolExecutor, *, last: bool) -> None:
        """Replace phrases by words of their own; the ``last`` pass prunes the vocabulary."""
        rules, words = self.request.phrases, self.directory / "vocabulary"
        assert rules is not None
        divides = self.pretokenized and not self.text.of_tokens
        text = replace(self.text, segmenter="whitespace") if divides else self.text
        directories = [shard.directory for shard in self.shards]
        n_threads, memory = self.options.n_threads, parse_memory(self.options.memory) // 4
        vocabulary = Vocabulary(words, of_tokens=self.text.of_tokens)
        trie = find_phrases(directories, vocabulary, rules, text, threads, n_threads, memory)
        sizes, n_joined = join_phrases(directories, trie, len(vocabulary), threads)
        del vocabulary  # or Windows would not remove its files
        self.runs = TypeRuns(self.directory / SCRATCH / "phrases")
        max_types = self.options.max_types if last else None
        new_ids, joined = write_joined(words, self.runs, trie, n_joined, max_types)
        for shard, entry, size in zip(self.shards, self.entries, sizes, strict=True):
            shard.segments, entry["tokens"] = [(0, size, 0)], size
        self._renumber(threads, {0: new_ids}, None)
        types, tokens = int(np.count_nonzero(n_joined)), int(n_joined.sum())
        self.phrases.append({"types": types, "tokens": tokens})
        self.joined_phrases += [joined] if joined else []

    def _manifest(self) -> dict[str, Any]:
        """Return the manifest: settings, sizes, sources and arrays."""
        text = replace(self.text, joined_phrases=tuple(self.joined_phrases)).to_json()
        if self.pretokenized and not self.text.of_tokens:
            text["segmenter"] = "whitespace"  # segments queries the way the tokens are separated
        settings = self.request.settings()
        # name, size, time, digest and findings of every file read
        records = zip(self.files, self.records, strict=True)
        sources = [_record(file, **record) for file, record in records]
        content = [source["sha256"] for source in sources]
        sizes = [name for name in self.entries[0] if name != "name"]
        held_out = [self.held_out] if self.held_out["held_out_tokens"] else []
        return {
            "format": FORMAT,
            "fingerprint": fingerprint([FORMAT, content, settings, *held_out]),
            "text": text,
            **{name: sum(entry[name] for entry in self.entries) for name in sizes},
            "types": len(open_array(self.directory / "vocabulary", "counts")),
            **self.held_out,
            **({"phrases": self.phrases} if self.phrases else {}),
            **({"metadata": self.join.record()} if self.join else {}),
            "tally": dict(sorted(self.tally.items())),
            "settings": settings,
            "sources": sources,
            "document_sources": list(self.source_numbers),
            "shards": self.entries,
            "arrays": _array_list(self.directory),
        }


def _record(file: SourceFile, **more: Any) -> dict[str, Any]:
    """Return what the manifest says about a file."""
    about = {"name": file.name, "size": file.size, "mtime_ns": file.mtime_ns, "sha256": None}
    return {**about, **({"etag": file.etag} if file.etag else {}), **more}


def _array_list(directory: Path) -> dict[str, dict[str, Any]]:
    """List dtype and length of every array; checksums are in checksums.json."""
    arrays = {}
    for path in sorted(directory.rglob("*.npy")):
        values = open_array(path.parent, path.stem)
        name = path.relative_to(directory).as_posix()
        arrays[name] = {"dtype": str(values.dtype), "length": len(values)}
    return arrays
