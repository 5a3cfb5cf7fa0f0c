"""Counting, weighing and multiplying on a cluster: tasks over shards and over blocks of rows.

A block is a folder with a sparse matrix of full height in which only some rows have entries, so
that rows keep their numbers. Counts are integers, each row of a product is a sum of its own, and
the column sums of PPMI are added in the order of one machine: the vectors are the same bytes.
"""

import dataclasses
import functools
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.artifacts.arrays import open_array, write_array
from firth.corpora.artifacts.tasks import Task, TaskFolder
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.reporting import Progress
from firth.corpora.common.threads import even_ranges
from firth.embed.svd import ppmi
from firth.embed.svd.cooccurrence import add_counts, count_cooccurrences
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.window_weights import window_weights

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus, View

TASK_TOKENS = 1 << 24  # counted by one task, at least: two shards
BLOCK_ENTRIES = 1 << 22  # of a block of rows, about: 50 MB
TRANSPOSED = "transposed"

Span = tuple[int, int]  # rows, from the first to before the last
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts int64 (V + 1,), columns, values


@dataclass(frozen=True)
class Block:
    """Some rows of a matrix, in a folder."""

    folder: Path
    span: Span

    def open(self) -> Triple:
        """Map starts, columns and values; changes to them stay in memory."""
        names = ("starts", "columns", "values")
        starts, columns, values = (open_array(self.folder, name, private=True) for name in names)
        return starts, columns, values


@dataclass(frozen=True)
class BlockCounts:
    """Counts in blocks of rows."""

    starts: np.ndarray  # int64 (V + 1,), of all rows
    blocks: list[Block]
    denominator: int
    on_disk: bool = True


@dataclass(frozen=True, kw_only=True)
class Windows:
    """How words are counted."""

    n_words: int
    window: int
    weighting: str
    context: str
    memory: str | None


class ClusterMatrix:
    """A co-occurrence matrix that the workers of a cluster count, weigh and multiply."""

    def __init__(
        self,
        tasks: TaskFolder,
        corpus: "Corpus",
        *,
        task_tokens: int = TASK_TOKENS,
        block_entries: int = BLOCK_ENTRIES,
    ) -> None:
        if corpus.sampled is not None:
            raise SettingError(f"{corpus.path}: a sample; a cluster trains on whole corpora")
        self.tasks = tasks
        self._corpus = corpus
        self._task_tokens = task_tokens
        self._block_entries = block_entries
        self._n_products = 0
        self._factored: dict[bool, list[Block]] = {}  # by whether it is the transpose

    def count(self, view: "View", windows: Windows, progress: Progress) -> BlockCounts:
        """Count shards, then add the counts of each block of rows."""
        words = self.tasks.new_folder("words")
        write_array(words, "rows", view.rows_of_types())
        write_array(words, "counts", view.counts)
        tokens = np.array([len(shard.ids) for shard in self._corpus.shards])
        selection = view.documents, view.boundary
        path = self._corpus.path.absolute()
        counting = []
        for number, span in enumerate(even_ranges(tokens, self._task_tokens)):
            arguments = path, span, words, selection, windows
            counting.append(Task(f"count-{number:05}", count_shards, arguments, f"{span}"))
        for done, _ in enumerate(self.tasks.run(counting), 1):
            progress(view.n_tokens * done // len(counting), view.n_tokens)
        parts = [self.tasks.path_of(task) for task in counting]
        lengths = _sum(np.diff(open_array(part, "starts")) for part in parts)
        blocks = self._run_over_rows("add", add_rows, lengths, parts)
        starts = _sum(open_array(block.folder, "starts") for block in blocks)
        denominator = window_weights(windows.window, windows.weighting)[1]
        return BlockCounts(starts, blocks, denominator)

    def weigh(
        self,
        counts: BlockCounts,
        scratch: Scratch,
        *,
        weighting: str,
        keep: np.ndarray,
        context_smoothing: float,
        shift: float,
    ) -> Any:
        """Weigh each block, and transpose; return the whole matrix, as :func:`ppmi.weigh` does."""
        factors = (keep / counts.denominator, keep)
        if weighting == "ppmi":
            margins = self._margins(counts, keep)
            by_row, by_context = ppmi.factors_of(*margins, keep, context_smoothing)
            factors = (by_row / shift, by_context)
        folder = self.tasks.new_folder("factors")
        for name, values in zip(("rows", "contexts"), factors, strict=True):
            write_array(folder, name, values)
        weighing = [
            Task(f"weigh-{number:05}", weigh_rows, (block, weighting, folder))
            for number, block in enumerate(counts.blocks)
        ]
        self.tasks.results(weighing, exact=False)
        weighed = [
            Block(self.tasks.path_of(task, kept=False), block.span)
            for task, block in zip(weighing, counts.blocks, strict=True)
        ]
        lengths = _sum(
            np.diff(open_array(block.folder / TRANSPOSED, "starts")) for block in weighed
        )
        transposed = self._run_over_rows("transpose", transpose_rows, lengths, weighed, exact=False)
        self._factored = {False: weighed, True: transposed}
        return _joined(weighed, scratch)

    def multiply(self, block: np.ndarray, transposed: bool) -> np.ndarray:
        """Return the weighed matrix, or its transpose, times a block; see ``sparse_products``."""
        self._n_products += 1
        folder = self.tasks.new_folder("factor")
        write_array(folder, "block", block)
        multiplying = [
            Task(f"multiply-{self._n_products:03}-{number:05}", multiply_block, (rows, folder))
            for number, rows in enumerate(self._factored[transposed])
        ]
        self.tasks.results(multiplying, exact=False)
        folders = [self.tasks.path_of(task, kept=False) for task in multiplying]
        product = np.concatenate([open_array(each, "product") for each in folders])
        for each in (folder, *folders):
            shutil.rmtree(each)
        return product

    def _margins(self, counts: BlockCounts, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the row sums and the column sums of the subsampled counts."""
        folder = self.tasks.new_folder("keep")
        write_array(folder, "keep", keep)
        summing = []
        for number, span in enumerate(ppmi.margin_spans(counts.starts)):
            arguments = _overlapping(counts.blocks, span), span, folder
            summing.append(Task(f"margins-{number:05}", sum_rows, arguments))
        self.tasks.results(summing, exact=False)
        folders = [self.tasks.path_of(task, kept=False) for task in summing]
        rows = np.concatenate([open_array(each, "rows") for each in folders])
        contexts = np.zeros(len(keep))
        for each in folders:
            contexts += open_array(each, "contexts")  # in order: the same sum as on one machine
        return rows, contexts * keep

    def _run_over_rows(
        self,
        name: str,
        function: Any,
        lengths: np.ndarray,
        inputs: Sequence[Any],
        *,
        exact: bool = True,
    ) -> list[Block]:
        """Run ``function(folder, inputs, span)`` for blocks of rows of about one size."""
        spans = even_ranges(lengths + 1, self._block_entries)
        tasks = [
            Task(f"{name}-{number:05}", function, (inputs, span), f"{span} {len(inputs)}")
            for number, span in enumerate(spans)
        ]
        self.tasks.results(tasks, exact=exact)
        folders = [self.tasks.path_of(task, kept=exact) for task in tasks]
        return [Block(*each) for each in zip(folders, spans, strict=True)]


def count_shards(
    folder: Path, corpus: Path, span: Span, words: Path, selection: Any, windows: Windows
) -> None:
    """Count some shards of a corpus, in files."""
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.store.view import View

    documents, boundary = selection
    rows, counts = open_array(words, "rows"), open_array(words, "counts")
    types = np.empty(len(counts), np.int64)
    types[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    whole = Corpus.open(corpus).stored
    stored = dataclasses.replace(whole, shards=whole.shards[slice(*span)])
    found = count_cooccurrences(
        View(stored, types, [], counts, boundary=boundary, documents=documents),
        window=windows.window,
        n_words=windows.n_words,
        weighting=windows.weighting,
        context=windows.context,
        threads=1,
        memory=parse_memory(windows.memory),
        directory=folder,
    )
    _write(folder, found.starts, found.columns, found.counts)


def add_rows(folder: Path, parts: Sequence[Path], span: Span) -> None:
    """Add the counts of some rows over all parts."""
    first, stop = span
    counted = []
    for part in parts:
        starts, columns, counts = Block(part, span).open()
        entries = slice(starts[first], starts[stop])
        counted.append(
            (starts[first : stop + 1] - starts[first], columns[entries], counts[entries])
        )
    n_words = len(starts) - 1
    own_starts, columns, counts = add_counts(counted, n_words)
    _write(folder, _full_height(np.diff(own_starts), span, n_words), columns, counts)


def sum_rows(folder: Path, blocks: Sequence[Block], span: Span, keep_folder: Path) -> None:
    """Write the subsampled sums of some rows, and the sums over them of each column."""
    from firth.embed.svd.ppmi_kernels import margins

    keep = open_array(keep_folder, "keep", private=True)
    rows, contexts = np.zeros((2, len(keep)))
    for block in blocks:
        first, stop = max(span[0], block.span[0]), min(span[1], block.span[1])
        margins(*block.open(), first, stop, keep, rows, contexts)
    write_array(folder, "rows", rows[slice(*span)])
    write_array(folder, "contexts", contexts)


def weigh_rows(folder: Path, block: Block, weighting: str, factors: Path) -> None:
    """Write the weighed rows of a block, and their transpose in the folder ``transposed``."""
    from firth.embed.svd.transpose_kernels import transpose_columns

    kernel, flags = ppmi.kernel_of(weighting)
    starts, columns, counts = block.open()
    values = np.empty(len(columns), np.float32)
    lengths = np.zeros(len(starts) - 1, np.int64)
    by_row, by_context = (open_array(factors, name, private=True) for name in ("rows", "contexts"))
    end = kernel(starts, columns, counts, *block.span, by_row, by_context, *flags, values, lengths)
    starts, columns, values = _starts(lengths), columns[:end].view(np.uint32), values[:end]
    _write(folder, starts, columns, values)
    by_column = _starts(np.bincount(columns, minlength=len(lengths)))
    rows, sorted_values = np.empty_like(columns), np.empty_like(values)
    transpose_columns(
        starts, columns, values, 0, len(lengths), by_column[:-1].copy(), rows, sorted_values
    )
    _write(folder / TRANSPOSED, by_column, rows, sorted_values)


def transpose_rows(folder: Path, blocks: Sequence[Block], span: Span) -> None:
    """Write some rows of the transpose of a whole matrix, from those of its blocks."""
    first, stop = span
    parts = [Block(block.folder / TRANSPOSED, span).open() for block in blocks]
    lengths = _sum(np.diff(starts[first : stop + 1]) for starts, _, _ in parts)
    starts = _full_height(lengths, span, len(parts[0][0]) - 1)
    columns, values = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.float32)
    places = starts[first:stop].copy()
    for part_starts, part_columns, part_values in parts:
        begin, end = part_starts[first], part_starts[stop]
        of_part = np.diff(part_starts[first : stop + 1])
        offsets = np.repeat(places - part_starts[first:stop], of_part)
        targets = offsets + np.arange(begin, end)
        columns[targets], values[targets] = part_columns[begin:end], part_values[begin:end]
        places += of_part
    _write(folder, starts, columns, values)


def multiply_block(folder: Path, rows: Block, factor: Path) -> None:
    """Multiply the rows of a block."""
    from firth.embed.svd.product_kernels import WIDTH, multiply_rows

    first, stop = rows.span
    starts, columns, values = rows.open()
    product = np.empty((stop - first, WIDTH), np.float32)
    block = open_array(factor, "block", private=True)
    multiply_rows(starts[first:], columns, values, block, 0, stop - first, product)
    write_array(folder, "product", product)


def _write(folder: Path, starts: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
    """Write the files of a block."""
    write_array(folder, "starts", starts)
    write_array(folder, "columns", columns)
    write_array(folder, "values", values)


def _sum(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Add arrays one by one."""
    return functools.reduce(np.add, arrays)


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Return where each row starts, int64 (n + 1,), given the number of its entries."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _full_height(lengths: np.ndarray, span: Span, n_rows: int) -> np.ndarray:
    """Return the starts of all rows, of which only some have entries."""
    of_all = np.zeros(n_rows, np.int64)
    of_all[slice(*span)] = lengths
    return _starts(of_all)


def _overlapping(blocks: Sequence[Block], span: Span) -> list[Block]:
    """Return the blocks that have some of the rows."""
    return [each for each in blocks if each.span[0] < span[1] and span[0] < each.span[1]]


def _joined(blocks: Sequence[Block], scratch: Scratch) -> Any:
    """Return the blocks as one matrix, scipy.sparse.csr_matrix float32 (V, V)."""
    from scipy import sparse

    opened = [block.open() for block in blocks]
    starts = _sum(each for each, _, _ in opened)
    columns = scratch.empty((int(starts[-1]),), np.int32)
    values = scratch.empty((int(starts[-1]),), np.float32)
    np.concatenate([part.view(np.int32) for _, part, _ in opened], out=columns)
    np.concatenate([part for _, _, part in opened], out=values)
    shape = (len(starts) - 1, len(starts) - 1)
    return sparse.csr_matrix((values, columns, starts), shape=shape, copy=False)
