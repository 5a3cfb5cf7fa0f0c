"""Encodes blocks on threads, each of which uses one type table of a pool at a time."""

import queue
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import NamedTuple, Protocol

import numpy as np

from firth.corpora.common.memory import parse_memory
from firth.corpora.encoding.encode import EncodedBlock, PreparedBlock, encode, parse
from firth.corpora.encoding.request import BuildOptions, Request
from firth.corpora.reading.text_blocks import RawBlock, TextBlock
from firth.corpora.text.type_table import MAX_TABLE_TOKENS, TypeTable

_PROGRAM_BYTES = 100 << 20  # Python, NumPy, numba and compiled kernels
# A piece of text takes 4 to 6 times its bytes while it is encoded, and up to twice that if it is
# kept.
_SHARES, _SHARES_IF_KEPT = 7, 14


class Encoded(NamedTuple):
    """A block as ids of a type table, with what it was encoded from."""

    block: EncodedBlock
    text: TextBlock
    table: Hashable
    consumed: int  # stored bytes that were read since the block before


class TableStore(Protocol):
    """Where full tables are written."""

    def add(
        self, table: Hashable, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray
    ) -> None:
        """Write the types of a table with their counts."""


class TablePool:
    """Type tables for threads; a full one is written and replaced."""

    def __init__(self, request: Request, store: TableStore) -> None:
        self._text, self._keep_text = request.text.before_lemmas, request.options.keep_text
        self._store = store
        n_threads = request.options.n_threads
        self._limit = parse_memory(request.options.memory) // (4 * n_threads)
        self._idle: queue.LifoQueue[tuple[int, TypeTable]] = queue.LifoQueue()
        self._numbers = iter(range(1 << 62))
        for _ in range(n_threads):
            self._idle.put((next(self._numbers), TypeTable()))

    def encode(
        self, raw: RawBlock, parsed: Future[tuple[TextBlock, PreparedBlock]] | None
    ) -> Encoded:
        """Encode a block, which may have been parsed elsewhere, with a free table."""
        text, prepared = parsed.result() if parsed else parse(raw, self._text)
        number, table = self._idle.get()
        try:
            block = encode(prepared, self._text, table, keep_text=self._keep_text)
            return Encoded(block, text, number, raw.consumed)
        finally:  # or another thread would wait forever
            if table.nbytes > self._limit or table.n_tokens > MAX_TABLE_TOKENS:
                try:
                    self._close(number, table)
                finally:
                    self._idle.put((next(self._numbers), TypeTable()))
            else:
                self._idle.put((number, table))

    def close_all(self, threads: Executor) -> None:
        """Write the remaining tables once no thread uses them."""
        tables = [self._idle.get() for _ in range(self._idle.qsize())]
        list(threads.map(lambda numbered: self._close(*numbered), tables))

    def _close(self, number: int, table: TypeTable) -> None:
        """Write a table."""
        self._store.add(number, table.text, table.offsets, table.counts())


def encode_blocks(
    raws: Iterable[RawBlock],
    request: Request,
    store: TableStore,
    threads: Executor,
    parsers: Executor,
    block_bytes: int,
) -> Iterator[Encoded]:
    """Encode blocks on threads and yield them in order; ``parsers`` do slow parsing.

    All tables are in the store after the last block.
    """
    pool, waiting = TablePool(request, store), deque[tuple[int, Future[Encoded]]]()
    most = most_at_once(request.options, block_bytes)
    for raw in raws:
        parsed, size = None, len(raw.data) if isinstance(raw.data, bytes) else block_bytes
        # after a block that is nearly full come others, for which it is worth to start processes
        slow = request.text.pattern is not None and 4 * size >= 3 * block_bytes
        if raw.heavy or request.text.segmenter == "jieba" or slow:
            parsed = parsers.submit(parse, raw, request.text.before_lemmas)
        waiting.append((size, threads.submit(pool.encode, raw, parsed)))
        # a third, since the next piece may be as long as fits
        while len(waiting) > 2 * request.options.n_threads or (
            sum(size for size, _ in waiting) > most // 3
        ):
            yield waiting.popleft()[1].result()
    while waiting:
        yield waiting.popleft()[1].result()
    pool.close_all(threads)


def most_at_once(options: BuildOptions, block_bytes: int) -> int:
    """Return the most bytes of text to read in one piece, which is encoded as a whole."""
    shares = _SHARES_IF_KEPT if options.keep_text else _SHARES
    return max((parse_memory(options.memory) - _PROGRAM_BYTES) // shares, 4 * block_bytes)
