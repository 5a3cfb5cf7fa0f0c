"""Estimate what building a corpus takes, by building a sample of its sources."""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.common.console import human
from firth.corpora.common.estimate import Estimate, extrapolated
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.encoding.pipeline import build_sample, most_at_once
from firth.corpora.encoding.readable import check_readable
from firth.corpora.encoding.request import BuildOptions, Request
from firth.corpora.encoding.type_table import table_bytes
from firth.corpora.encoding.up_to_date import up_to_date
from firth.corpora.reading.sample import sample_blocks, stored_bytes
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.statistics import type_token_curve

_SAMPLE_BYTES = 64 << 20  # of text
_BLOCKS_PER_THREAD = 4  # at least, so that all threads work
_CURVE_POINTS = 4  # of the growth of types, each at twice the text of the one before
_NOTHING = Estimate(
    disk=0, memory=0, seconds=0.0, sizes={"bytes": 0}, reckoned_from="a corpus that is up to date"
)
_SOURCE_ENTRY = 160  # bytes about each file in the manifest


def estimate_corpus(
    request: Request,
    out: Path | None = None,
    *,
    force: bool = False,
    sample_bytes: int = _SAMPLE_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> Estimate:
    """Estimate the cost of a build; a sample is built in a temporary folder, which is removed.

    Raises what the build would raise before it reads the sources, and for pipes.
    """
    files = source_files(request.sources, exclude=out)
    if out is not None:
        if not force and up_to_date(out, request):
            return _NOTHING
        refuse_existing(out, force)
    n_bytes, options = stored_bytes(files), request.options
    longest = most_at_once(options, block_bytes)
    unreadable = check_readable(files, request.read, most_bytes=longest, whole=False)
    files = [file for file in files if file not in unreadable]
    most = max(sample_bytes, _BLOCKS_PER_THREAD * options.n_threads * block_bytes)

    def sampled() -> Iterator[RawBlock]:
        return sample_blocks(files, request.read, most, block_bytes=block_bytes, longest=longest)

    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        started = time.perf_counter()
        build_sample(request, Path(folder) / "first", islice(sampled(), 1))  # loads kernels
        loading = time.perf_counter() - started
        blocks = _Counted(sampled())
        with peak_memory() as peak:
            started = time.perf_counter()
            sample = build_sample(request, Path(folder) / "sample", blocks)
            sample.advice()
            seconds = time.perf_counter() - started
        scale = max(1.0, n_bytes / blocks.consumed)
        tokens, types = scale * sample.n_tokens, _types_at(sample, options)
        memory = _vocabulary_memory(sample, types, tokens, options)
        memory -= _vocabulary_memory(sample, types, sample.n_tokens, options)
        return Estimate(
            disk=_disk(sample, scale, types(tokens), len(files)),
            memory=peak.bytes + memory,
            seconds=loading + seconds * scale,
            temporary=round(types(tokens) * (40 + 2 * _word_bytes(sample))),
            sizes={"bytes": n_bytes, "tokens": round(tokens), "types": round(types(tokens))},
            reckoned_from=(
                f"{human(blocks.consumed)}B of {human(n_bytes)}B, built on {options.n_threads} "
                f"threads in {seconds:.2f} s: {human(sample.n_tokens)} tokens; types by their "
                "growth in it"
            ),
        )


class _Counted:
    """Iterates over blocks and adds up the stored bytes that they are of."""

    def __init__(self, blocks: Iterable[RawBlock]) -> None:
        self._blocks = blocks
        self.consumed = 0

    def __iter__(self) -> Iterator[RawBlock]:
        for block in self._blocks:
            self.consumed += block.consumed
            yield block


def _types_at(sample: Corpus, options: BuildOptions) -> Callable[[float], float]:
    """Return a function that estimates the types of so many tokens."""
    curve = type_token_curve(sample)[-_CURVE_POINTS:]
    tokens, types = ([point[name] for point in curve] for name in ("tokens", "types"))
    most = float("inf") if options.max_types is None else options.max_types + 1
    return lambda at: min(extrapolated(tokens, types, at), most)


def _word_bytes(sample: Corpus) -> float:
    """Return the mean length of a type in bytes."""
    return len(sample.vocabulary.text) / max(1, sample.manifest["types"])


def _vocabulary_memory(
    sample: Corpus, types: Callable[[float], float], tokens: float, options: BuildOptions
) -> int:
    """Return the memory that grows with the types: the most of encoding, merging and numbering.

    Each thread has a table of types, which is sorted at the end; then all are merged.
    """
    n_threads, memory, word = options.n_threads, parse_memory(options.memory), _word_bytes(sample)
    n_types, in_table = types(tokens), types(max(1, tokens / n_threads))
    table = table_bytes(round(in_table), round(in_table * word))
    limit = memory // (4 * n_threads)  # beyond it a table is written and a new one begun
    if table > limit:
        in_table, table = in_table * limit / table, 2 * limit
    encoding = n_threads * (table + in_table * (32 + word))  # sorted: order, starts, counts, text
    merging = 12 * n_threads * in_table + (64 + 2 * word) * n_types
    numbering = min(16 * n_types * n_threads, max(memory // 4, 16 * n_types))
    return round(max(encoding, merging, numbering))


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
