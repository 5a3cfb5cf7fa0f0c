"""Estimate what building a corpus takes, by building a sample of its sources."""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.common.console import human
from firth.corpora.common.estimate import Estimate, extrapolated
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.common.system import temporary_folder
from firth.corpora.encoding.build import up_to_date
from firth.corpora.encoding.pipeline import build_sample
from firth.corpora.encoding.readable import check_readable
from firth.corpora.encoding.request import BuildOptions, Request
from firth.corpora.encoding.table_pool import most_at_once
from firth.corpora.encoding.walks import WalkedGraph
from firth.corpora.reading.sample import sample_blocks, stored_bytes
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.statistics import type_token_curve

_SAMPLE_BYTES = 64 << 20  # of text
_BLOCKS_PER_THREAD = 4  # at least, so that all threads work
_WALK_BLOCKS = 16  # at least
_CURVE_POINTS = 4  # of the growth of types, each at twice the text of the one before
_NOTHING = Estimate(
    disk=0, memory=0, seconds=0.0, sizes={"bytes": 0}, reckoned_from="a corpus that is up to date"
)
_BY_TYPE = 56  # bytes in the table of a thread, with what sorts it
_SOURCE_ENTRY = 160  # bytes about each file in the manifest


def estimate_corpus(
    request: Request,
    out: Path | None = None,
    *,
    force: bool = False,
    sample_bytes: int = _SAMPLE_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> Estimate:
    """Estimate the cost of a build; a sample is built in a temporary folder, which is removed."""
    files = request.files(out)
    if out is not None:
        if not force and up_to_date(out, request):
            return _NOTHING
        refuse_existing(out, force)
    if request.walks:
        return _estimate_walks(request, files[0])
    n_bytes, options = stored_bytes(files), request.options
    longest = most_at_once(options, block_bytes)
    unreadable = check_readable(files, request.read, most_bytes=longest, whole=False)
    files = [file for file in files if file not in unreadable]
    most = max(sample_bytes, _BLOCKS_PER_THREAD * options.n_threads * block_bytes)

    def sampled() -> Iterator[RawBlock]:
        return sample_blocks(files, request.read, most, block_bytes=block_bytes, longest=longest)

    with temporary_folder() as folder:
        started = time.perf_counter()
        build_sample(request, folder / "first", islice(sampled(), 1))  # loads kernels
        loading = time.perf_counter() - started
        consumed = 0  # bytes as they are stored

        def counted() -> Iterator[RawBlock]:
            nonlocal consumed
            for block in sampled():
                consumed += block.consumed
                yield block

        with peak_memory() as peak:
            started = time.perf_counter()
            sample = build_sample(request, folder / "sample", counted())
            sample.advice()
            seconds = time.perf_counter() - started
        scale = max(1.0, n_bytes / consumed)
        tokens = scale * sample.n_tokens
        n_types = _types_at(sample, tokens, options)
        estimate = Estimate(
            disk=_disk(sample, scale, n_types, len(files)),
            memory=peak.bytes + _vocabulary_memory(sample, n_types, options),
            seconds=loading + seconds * scale,
            temporary=round(n_types * (40 + 2 * _word_bytes(sample))),
            sizes={"bytes": n_bytes, "tokens": round(tokens), "types": round(n_types)},
            reckoned_from=(
                f"{human(consumed)}B of {human(n_bytes)}B, built on {options.n_threads} "
                f"threads in {seconds:.2f} s: {human(sample.n_tokens)} tokens; types by their "
                "growth in it"
            ),
        )
        del sample  # or Windows would not remove its files
    return estimate


def _estimate_walks(request: Request, file: SourceFile) -> Estimate:
    """Estimate the cost of walks by the difference of two samples, of one block and of several."""
    assert request.walks is not None
    n_threads, seconds = request.options.n_threads, []
    with temporary_folder() as folder, peak_memory() as peak:
        started = time.perf_counter()
        graph = WalkedGraph(file, request.walks, request.read)
        seconds.append(time.perf_counter() - started)
        n_tokens, n_blocks = graph.n_tokens, graph.n_blocks
        most = max(_WALK_BLOCKS, _BLOCKS_PER_THREAD * n_threads)
        for name, most_blocks in (("loads-kernels", 1), ("one", 1), ("several", most)):
            started = time.perf_counter()
            graph.n_blocks = min(most_blocks, n_blocks)
            sample = build_sample(request, folder / name, graph=graph)
            sample.advice()
            seconds.append(time.perf_counter() - started)
        reading, first, one, several = seconds
        scale = n_tokens / graph.n_tokens
        n_types = sample.manifest["types"]
        walking = max(0.0, several - one) * (n_blocks - 1) / max(1, graph.n_blocks - 1)
        estimate = Estimate(
            disk=_disk(sample, scale, n_types, 1),
            memory=peak.bytes,
            seconds=reading + first + walking,
            temporary=round(n_types * (40 + 2 * _word_bytes(sample))),
            sizes={"tokens": round(scale * sample.n_tokens), "types": n_types},
            reckoned_from=(
                f"{human(sample.n_tokens)} of {human(scale * sample.n_tokens)} tokens of walks, "
                f"made on {n_threads} threads in {several:.2f} s after {reading:.2f} s for the "
                "graph"
            ),
        )
        del sample  # or Windows would not remove its files
    return estimate


def _types_at(sample: Corpus, at: float, options: BuildOptions) -> float:
    """Estimate the types of so many tokens."""
    curve = type_token_curve(sample)[-_CURVE_POINTS:]
    tokens, types = ([point[name] for point in curve] for name in ("tokens", "types"))
    most = float("inf") if options.max_types is None else options.max_types + 1
    return min(extrapolated(tokens, types, at), most)


def _word_bytes(sample: Corpus) -> float:
    """Return the mean length of a type in bytes."""
    return len(sample.vocabulary.text) / max(1, sample.manifest["types"])


def _vocabulary_memory(sample: Corpus, n_types: float, options: BuildOptions) -> int:
    """Return the memory of types that the sample lacks: each thread has a table, and sorts it."""
    by_type = options.n_threads * (_BY_TYPE + 2 * _word_bytes(sample))
    more = by_type * max(0.0, n_types - sample.manifest["types"])
    return round(min(more, parse_memory(options.memory) / 2))


def _disk(sample: Corpus, scale: float, n_types: float, n_files: int) -> int:
    """Return the bytes of a corpus ``scale`` times as large as the sample."""
    growth = {"shards": scale, "vocabulary": n_types / sample.manifest["types"]}
    growth |= dict.fromkeys(("vocabulary.tsv", "forms"), growth["vocabulary"])
    total = sum(
        path.stat().st_size * growth.get(path.relative_to(sample.path).parts[0], 1.0)
        for path in sample.path.rglob("*")
        if path.is_file()
    )
    return round(total) + _SOURCE_ENTRY * n_files
