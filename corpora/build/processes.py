"""Other processes for slow pure-Python work, started only when there is any."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from corpora.common.interrupts import defer_interrupts

T = TypeVar("T")


class LazyProcesses:
    """A process pool that does not exist before its first task."""

    def __init__(self, n_processes: int) -> None:
        self._n_processes = n_processes
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Run a picklable function in another process."""
        if self._pool is None:
            # spawned, not forked: this process has threads
            self._pool = ProcessPoolExecutor(
                self._n_processes,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_die_with_parent,
                initargs=(os.getpid(),),
            )
        # the mask is the worker's, and no other thread's here; our own handler waits, too, or a
        # worker that is half started would tell of it
        with defer_interrupts(), _interrupts_blocked():
            return self._pool.submit(function, *arguments)

    def shutdown(self) -> None:
        """End the processes, dropping what has not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def worker_processes(n_processes: int) -> Iterator[LazyProcesses]:
    """Give a pool that ends with the block."""
    pool = LazyProcesses(n_processes)
    try:
        yield pool
    finally:
        pool.shutdown()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: their parent ends them, without a word."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_with_parent(parent: int) -> None:
    """Watch the parent: a killed one cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
