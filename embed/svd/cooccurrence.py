"""How often each word occurs near each other word: exact, in integers.

Windows are weighted by distance with fractions; every weight is multiplied by
their least common denominator, so that counts are integers and any split over
threads, blocks or machines adds up to the same bytes.
"""

import queue
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.common.console import Progress, no_progress
from corpora.common.threads import even_ranges, map_in_order, thread_count
from embed.svd.inverted_text import CountableView, invert, segments
from embed.svd.row_writer import RowWriter
from embed.svd.window_weights import count_type, window_weights

CONTEXTS = ("symmetric", "left", "right")

_PIECE = 1 << 20  # entries of one piece of work: a few MB, so that it stays in cache
_MOST_TOKENS = (1 << 31) - (1 << 20)  # positions are 32-bit
_MOST_BLOCKS = 64  # added up before there are more: each holds two open files
_SHARE = 3  # text and positions, counts, and all else: a third of the memory each


@dataclass(frozen=True)
class Cooccurrences:
    """Integer counts, one sparse row per word, columns ascending in each."""

    starts: np.ndarray  # int64 (V + 1,): row w is ``columns[starts[w]:starts[w + 1]]``
    columns: np.ndarray  # int32 (n,): rows of the context words
    counts: np.ndarray  # uint32 or int64 (n,): weighted co-occurrences times ``unit``
    unit: int  # what one pair of weight 1 counts
    on_disk: bool = False  # whether the entries exceeded the memory and lie in a mapped file


def count_cooccurrences(
    view: CountableView,
    *,
    window: int,
    weighting: str = "dynamic",
    context: str = "symmetric",
    threads: int | None = None,
    memory: int | None = None,
    directory: Path | None = None,
    progress: Progress = no_progress,
    piece: int = _PIECE,
    most_blocks: int = _MOST_BLOCKS,
) -> Cooccurrences:
    """Count the contexts of every word; the same bytes at any ``threads`` and ``memory``.

    The text is inverted (positions grouped by word), and each row counted by
    itself in a dense accumulator. Text that exceeds the memory is counted in
    segments whose rows are then added; counts that exceed it are kept on disk.
    """
    weights, unit = window_weights(window, weighting)
    job = _Job(
        n_words=len(view.counts),
        weights=np.array(weights, dtype=count_type(view.counts, weights)),
        before=window if context != "right" else 0,
        after=window if context != "left" else 0,
        threads=thread_count(threads),
        memory=memory,
        directory=directory,
        piece=piece,
    )
    told = _Told(progress, view.n_tokens)
    texts = segments(view, job.text_type, job.token_limit)
    first, second = next(texts, None), next(texts, None)
    if first is None:
        writer = RowWriter(job.weights.dtype, 0, 0)
        writer.append(*job.empty(), np.zeros(job.n_words, np.int64))
    elif second is None:
        writer = _count_segment(first, job, told, job.entry_limit)
    else:
        blocks = [_count_segment(text, job, told, 0).finish() for text in (first, second)]
        del first, second
        for text in texts:
            if len(blocks) == most_blocks:
                blocks = [_add_blocks(blocks, job, 0).finish()]
            blocks.append(_count_segment(text, job, told, 0).finish())
        writer = _add_blocks(blocks, job, job.entry_limit)
    on_disk = writer.on_disk
    return Cooccurrences(*writer.finish(), unit=unit, on_disk=on_disk)


@dataclass(frozen=True)
class _Job:
    """What every step of one count needs to know."""

    n_words: int
    weights: np.ndarray
    before: int
    after: int
    threads: int
    memory: int | None
    directory: Path | None
    piece: int

    @property
    def text_type(self) -> Any:
        """Smallest type that holds every row and the separator."""
        return np.uint16 if self.n_words < 1 << 16 else np.uint32

    @property
    def token_limit(self) -> int:
        """Tokens of a segment, whose text and positions must fit.

        No fewer than there are words: as much memory goes to a number per word in any case.
        """
        if self.memory is None:
            return _MOST_TOKENS
        each = np.dtype(self.text_type).itemsize * 2 + np.dtype(np.int32).itemsize
        return min(_MOST_TOKENS, max(self.memory // _SHARE // each, self.n_words))

    @property
    def entry_limit(self) -> int:
        """Entries to keep in memory."""
        if self.memory is None:
            return 1 << 62
        each = np.dtype(np.int32).itemsize + self.weights.dtype.itemsize
        return self.memory // _SHARE // each

    def empty(self, size: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Room for columns and counts."""
        return np.empty(size, np.int32), np.empty(size, self.weights.dtype)

    def scratches(self) -> "queue.SimpleQueue[Any]":
        """An accumulator, a bitmap and a list of touched columns for each thread."""
        spare: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(self.threads):
            sums = np.zeros(self.n_words + 1, self.weights.dtype)
            bitmap = np.zeros(self.n_words // 64 + 1, np.uint64)
            spare.put((sums, bitmap, np.empty(self.n_words + 1, np.uint32)))
        return spare


class _Told:
    """Progress over several segments."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, tokens: int) -> None:
        """Tell that so many more are counted."""
        self._done += tokens
        self._progress(self._done, self._total)


def _count_segment(text: np.ndarray, job: _Job, told: _Told, limit: int) -> RowWriter:
    """Count one text; at most ``limit`` entries stay in memory."""
    from embed.svd.cooccurrence_kernels import count_rows

    positions, starts = invert(text, job.n_words, job.threads)
    tokens = np.diff(starts)[: job.n_words]
    most = np.minimum(job.n_words, tokens * (job.before + job.after))
    spare = job.scratches()

    def count(piece: tuple[int, int]) -> Any:
        first, stop = piece
        columns, counts = job.empty(int(most[first:stop].sum()))
        lengths = np.empty(stop - first, np.int64)
        scratch = spare.get()
        end = count_rows(
            text, positions, starts, first, stop, job.before, job.after,
            job.weights, scratch, columns, counts, lengths,
        )  # fmt: skip
        spare.put(scratch)
        return int(tokens[first:stop].sum()), columns[:end], counts[:end], lengths

    writer = RowWriter(job.weights.dtype, int(most.sum()), limit, job.directory)
    for done, *rows in map_in_order(count, even_ranges(most + tokens, job.piece), job.threads):
        writer.append(*rows)
        told.add(done)
    return writer


def _add_blocks(blocks: list[Any], job: _Job, limit: int) -> RowWriter:
    """Add counts of several texts, row by row; at most ``limit`` entries stay in memory."""
    from embed.svd.cooccurrence_kernels import add_rows

    lengths_in = sum(np.diff(starts) for starts, _, _ in blocks)
    spare = job.scratches()

    def add(piece: tuple[int, int]) -> Any:
        first, stop = piece
        spans = [slice(starts[first], starts[stop]) for starts, _, _ in blocks]
        columns, counts = job.empty(int(lengths_in[first:stop].sum()))
        lengths = np.empty(stop - first, np.int64)
        scratch = spare.get()
        end = add_rows(
            np.concatenate([block[1][span] for block, span in zip(blocks, spans, strict=True)]),
            np.concatenate([block[2][span] for block, span in zip(blocks, spans, strict=True)]),
            _block_starts([block[0][first : stop + 1] for block in blocks]),
            scratch, columns, counts, lengths,
        )  # fmt: skip
        spare.put(scratch)
        return columns[:end], counts[:end], lengths

    most = int(lengths_in.sum())
    writer = RowWriter(job.weights.dtype, most, limit, job.directory)
    for rows in map_in_order(add, even_ranges(lengths_in + 1, job.piece), job.threads):
        writer.append(*rows)
    return writer


def _block_starts(starts: list[np.ndarray]) -> np.ndarray:
    """Starts of the rows once the blocks' entries lie end to end."""
    ends = np.cumsum([0, *(block[-1] - block[0] for block in starts)])
    return np.stack([block - block[0] + end for block, end in zip(starts, ends[:-1], strict=True)])
