"""The pool of type tables, each used by one thread at a time."""

import queue
from concurrent.futures import Executor
from typing import Protocol

import numpy as np

from firth.corpora.common.memory import parse_memory
from firth.corpora.encoding.encode import EncodedBlock, PreparedBlock, encode
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.encoding.type_table import MAX_TABLE_TOKENS, TypeTable
from firth.corpora.text.segment import TextSettings


class TableStore(Protocol):
    """Where full tables are written."""

    def add(self, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> int:
        """Write the types of a table with their counts; return the number of the run they make."""


class TablePool:
    """Type tables for threads; a full one is written and replaced."""

    def __init__(self, options: BuildOptions, store: TableStore) -> None:
        self.run_of_table: dict[int, int] = {}  # by number of table
        self._store = store
        self._limit = parse_memory(options.memory) // (4 * options.n_threads)
        self._idle: queue.LifoQueue[tuple[int, TypeTable]] = queue.LifoQueue()
        self._numbers = iter(range(1 << 62))
        for _ in range(options.n_threads):
            self._idle.put((next(self._numbers), TypeTable()))

    def encode(
        self, prepared: PreparedBlock, text: TextSettings, *, keep_text: bool
    ) -> tuple[EncodedBlock, int]:
        """Encode a block with a free table; return the number of the table, too."""
        number, table = self._idle.get()
        try:
            return encode(prepared, text, table, keep_text=keep_text), number
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
        self.run_of_table[number] = self._store.add(table.text, table.offsets, table.counts())
