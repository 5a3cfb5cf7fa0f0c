"""Exact co-occurrence counts of words within a window, as integers.

Window weights are fractions of the distance. All are multiplied by their least
common denominator, so counts are integers and any split over threads, segments
or machines adds up to the same bytes.
"""

import itertools
import queue
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.svd.inverted_text import CountableView, invert, segments
from firth.embed.svd.row_writer import RowWriter
from firth.embed.svd.window_weights import count_type, window_weights

CONTEXTS = ("symmetric", "left", "right")

_CHUNK_ENTRIES = 1 << 20  # entries per chunk of work: a few MB, so that it stays in cache
_LEAST_CHUNK = 1 << 14  # smaller ones would take longer to hand out than to count
_MAX_TOKENS = (1 << 31) - (1 << 20)  # positions are 32-bit
_MAX_PARTIALS = 64  # partial counts kept before they are merged: each holds two open files
MEMORY_SHARES = 3  # one each for text with positions, for counts, and for everything else

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, columns and counts, as below


@dataclass(frozen=True)
class Cooccurrences:
    """Integer counts, one sparse row per word, columns ascending in each."""

    starts: np.ndarray  # int64 (V + 1,): row w is ``columns[starts[w]:starts[w + 1]]``
    columns: np.ndarray  # int32 (n,): row numbers of the context words
    counts: np.ndarray  # uint32 or int64 (n,): weighted co-occurrences times ``denominator``
    denominator: int  # the count of one pair of weight 1
    on_disk: bool = False  # whether the entries exceeded the memory and are memory-mapped

    @property
    def rows(self) -> Rows:
        """Starts, columns and counts."""
        return self.starts, self.columns, self.counts


def count_cooccurrences(
    view: CountableView,
    *,
    window: int,
    n_words: int | None = None,
    weighting: str = "dynamic",
    context: str = "symmetric",
    threads: int | None = None,
    memory: int | None = None,
    directory: Path | None = None,
    progress: Progress = no_progress,
) -> Cooccurrences:
    """Count the contexts of every word; the same bytes at any ``threads`` and ``memory``.

    With ``n_words``, only the view's first that many are counted, as words and as contexts. The
    others keep their places in the text, so windows are those of the whole view.

    The text is inverted (positions grouped by word), and each row is counted in
    a dense accumulator. Text that exceeds ``memory`` (bytes) is counted in
    segments whose rows are then added; counts that exceed it go to unnamed files
    in ``directory``, which are removed when the process ends. Raises SettingError if the
    weights do not fit 64-bit counts.
    """
    job = _Job(view.counts[:n_words], window, weighting, context, threads, memory, directory)
    total, done = int(view.counts[:n_words].sum()), 0

    def show(tokens: int) -> None:
        nonlocal done
        done += tokens
        progress(done, total)

    texts = segments(view, job.n_words, job.text_type, job.token_limit)
    waiting = list(itertools.islice(texts, 2)) or [np.empty(0, job.text_type)]
    if len(waiting) == 1:
        return job.counted(_count_segment(waiting.pop(), job, show, job.entry_limit))

    def partials() -> Iterator[Rows]:
        while waiting:
            yield _count_segment(waiting.pop(0), job, show, 0).finish()
        for text in texts:
            yield _count_segment(text, job, show, 0).finish()

    return _add_all(partials(), job)


def add_counts(
    partials: Iterable[Rows],
    counts: np.ndarray,
    *,
    window: int,
    weighting: str,
    threads: int | None,
    memory: int,
    directory: Path | None,
) -> Cooccurrences:
    """Add counts of parts of a text; ``counts`` are those of the words in all of it, int64 (V,)."""
    job = _Job(counts, window, weighting, "symmetric", threads, memory, directory)
    return _add_all(partials, job)


def _add_all(counted: Iterable[Rows], job: "_Job") -> Cooccurrences:
    """Add counts of parts of a text, of which some are kept until they are added."""
    partials: list[Rows] = []
    for rows in counted:
        if len(partials) == _MAX_PARTIALS:
            partials = [_add_partials(partials, job, 0).finish()]
        partials.append(rows)
    return job.counted(_add_partials(partials, job, job.entry_limit))


class _Job:
    """Settings shared by all steps of one count, of words that occur ``counts`` times."""

    def __init__(
        self,
        counts: np.ndarray,
        window: int,
        weighting: str,
        context: str,
        threads: int | None,
        memory: int | None,
        directory: Path | None,
    ) -> None:
        weights, self.denominator = window_weights(window, weighting)
        self.n_words = len(counts)
        self.weights = np.array(weights, dtype=count_type(counts, weights))
        self.before = window if context != "right" else 0
        self.after = window if context != "left" else 0
        self.threads = thread_count(threads)
        self.memory, self.directory = memory, directory

    @property
    def text_type(self) -> Any:
        """Smallest type that holds every row number, the other words' and the separator."""
        return np.uint16 if self.n_words + 1 < 1 << 16 else np.uint32

    @property
    def token_limit(self) -> int:
        """Most tokens of a segment that fits the memory; not below the vocabulary size."""
        if self.memory is None:
            return _MAX_TOKENS
        token_bytes = np.dtype(self.text_type).itemsize * 2 + np.dtype(np.int32).itemsize
        return min(_MAX_TOKENS, max(self.memory // MEMORY_SHARES // token_bytes, self.n_words))

    @property
    def entry_limit(self) -> int:
        """Most entries to keep in memory."""
        if self.memory is None:
            return 1 << 62
        entry_bytes = np.dtype(np.int32).itemsize + self.weights.dtype.itemsize
        return self.memory // MEMORY_SHARES // entry_bytes

    @property
    def chunk(self) -> int:
        """Entries per chunk of work; all that are on their way take a part of the memory."""
        fitting = self.entry_limit // (4 * self.threads)
        return min(_CHUNK_ENTRIES, max(fitting, _LEAST_CHUNK))

    def empty(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Allocate columns and counts."""
        return np.empty(size, np.int32), np.empty(size, self.weights.dtype)

    def counted(self, writer: RowWriter) -> Cooccurrences:
        """Return what was written."""
        on_disk = writer.on_disk
        return Cooccurrences(*writer.finish(), denominator=self.denominator, on_disk=on_disk)

    def scratch_pool(self) -> "queue.SimpleQueue[Any]":
        """Allocate an accumulator, a bitmap and a list of touched columns per thread."""
        pool: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(self.threads):
            sums = np.zeros(self.n_words + 1, self.weights.dtype)
            bitmap = np.zeros(self.n_words // 64 + 1, np.uint64)
            pool.put((sums, bitmap, np.empty(self.n_words + 2, np.uint32)))
        return pool


def _count_segment(
    text: np.ndarray, job: _Job, show: Callable[[int], None], limit: int
) -> RowWriter:
    """Count one segment and show how many tokens; at most ``limit`` entries stay in memory."""
    from firth.embed.svd.cooccurrence_kernels import count_rows

    positions, starts = invert(text, job.n_words + 2, job.threads)
    tokens = np.diff(starts)[: job.n_words]
    longest = int(np.diff(positions[starts[-2] :]).max(initial=1))  # unit, with its separator
    reach = min(job.before, longest) + min(job.after, longest)
    # one more than the words, for the column of all others until it is dropped
    max_lengths = np.minimum(job.n_words + 1, tokens * reach)
    pool = job.scratch_pool()

    def count(words: tuple[int, int]) -> Any:
        first, stop = words
        columns, counts = job.empty(int(max_lengths[first:stop].sum()))
        lengths = np.empty(stop - first, np.int64)
        scratch = pool.get()
        end = count_rows(
            text, positions, starts, first, stop, job.before, job.after,
            job.weights, scratch, columns, counts, lengths,
        )  # fmt: skip
        pool.put(scratch)
        return int(tokens[first:stop].sum()), columns[:end], counts[:end], lengths

    writer = RowWriter(job.weights.dtype, int(max_lengths.sum()), limit, job.directory)
    ranges = even_ranges(max_lengths + tokens, job.chunk)
    for n_tokens, *rows in map_in_order(count, ranges, job.threads):
        writer.append(*rows)
        show(n_tokens)
    return writer


def _add_partials(partials: list[Rows], job: _Job, limit: int) -> RowWriter:
    """Add the counts of several segments row by row; at most ``limit`` entries stay in memory."""
    from firth.embed.svd.cooccurrence_kernels import add_rows

    max_lengths = np.sum([np.diff(starts) for starts, _, _ in partials], axis=0)
    pool = job.scratch_pool()

    def add(words: tuple[int, int]) -> Any:
        first, stop = words
        spans = [slice(starts[first], starts[stop]) for starts, _, _ in partials]
        columns, counts = job.empty(int(max_lengths[first:stop].sum()))
        lengths = np.empty(stop - first, np.int64)
        scratch = pool.get()
        end = add_rows(
            np.concatenate([part[1][span] for part, span in zip(partials, spans, strict=True)]),
            np.concatenate([part[2][span] for part, span in zip(partials, spans, strict=True)]),
            _concatenated_starts([part[0][first : stop + 1] for part in partials]),
            scratch, columns, counts, lengths,
        )  # fmt: skip
        pool.put(scratch)
        return columns[:end], counts[:end], lengths

    writer = RowWriter(job.weights.dtype, int(max_lengths.sum()), limit, job.directory)
    for rows in map_in_order(add, even_ranges(max_lengths + 1, job.chunk), job.threads):
        writer.append(*rows)
    return writer


def _concatenated_starts(starts: list[np.ndarray]) -> np.ndarray:
    """Return where each row of each part starts once the parts' entries are concatenated."""
    ends = np.cumsum([0, *(part[-1] - part[0] for part in starts)])
    return np.stack([part - part[0] + end for part, end in zip(starts, ends[:-1], strict=True)])
