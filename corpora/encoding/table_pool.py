"""The pool of type tables, each used by one thread at a time."""

import queue
from collections.abc import Callable
from concurrent.futures import Executor

from firth.corpora.common.memory import parse_memory
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.encoding.type_table import MAX_TABLE_TOKENS, TypeTable


class TablePool:
    """Type tables for threads; a full one is passed to ``close``, which writes it, and replaced."""

    def __init__(self, options: BuildOptions, close: Callable[[int, TypeTable], None]) -> None:
        self._close = close
        self._limit = parse_memory(options.memory) // (4 * options.n_threads)
        self._idle: queue.LifoQueue[tuple[int, TypeTable]] = queue.LifoQueue()
        self._numbers = iter(range(1 << 62))
        for _ in range(options.n_threads):
            self._idle.put((next(self._numbers), TypeTable()))

    def take(self) -> tuple[int, TypeTable]:
        """Take a free table and its number."""
        return self._idle.get()

    def put_back(self, number: int, table: TypeTable) -> None:
        """Return a table to the pool; a full one is closed."""
        if table.nbytes > self._limit or table.n_tokens > MAX_TABLE_TOKENS:
            try:
                self._close(number, table)
            finally:  # or another thread would wait forever
                self._idle.put((next(self._numbers), TypeTable()))
        else:
            self._idle.put((number, table))

    def close_all(self, threads: Executor) -> None:
        """Close the remaining tables once no thread uses them."""
        tables = [self._idle.get() for _ in range(self._idle.qsize())]
        list(threads.map(lambda numbered: self._close(*numbered), tables))
