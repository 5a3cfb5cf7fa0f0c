"""A process pool for slow pure-Python work, started on first use."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from firth.corpora.common.errors import FirthError
from firth.corpora.common.interrupts import defer_interrupts, interrupts_blocked, main_hidden
from firth.corpora.common.system import WINDOWS, system

_MOST = 61  # processes that Windows can wait for at once

T = TypeVar("T")


class LazyProcesses(Executor):
    """A process pool that starts with its first task."""

    def __init__(self, n_processes: int) -> None:
        self._n_processes = min(n_processes, _MOST) if system() == WINDOWS else n_processes
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Run a module-level function with picklable arguments in another process."""
        # workers inherit this thread's signal mask; our own handler waits too, or an interrupted
        # half-started worker would print a traceback
        with defer_interrupts(), main_hidden(), interrupts_blocked():
            if self._pool is None:
                # spawned, not forked: this process has threads
                self._pool = ProcessPoolExecutor(
                    self._n_processes,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_initialize,
                )
            return self._pool.submit(function, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End the processes after the tasks that have started."""
        if self._pool is not None:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def kill(self) -> None:
        """End the processes at once."""
        if self._pool is not None:
            for process in list(self._pool._processes.values()):  # has no public name before 3.14
                process.kill()
            # or the pool's thread, and exit with it, waits for the rest of a half-sent result
            self._pool._result_queue._writer.close()  # type: ignore[attr-defined]
            self.shutdown()


@contextmanager
def worker_processes(n_processes: int) -> Iterator[LazyProcesses]:
    """Yield a pool that is shut down at the end of the block; an error kills its processes."""
    pool = LazyProcesses(n_processes)
    try:
        yield pool
    except BaseException as error:
        pool.kill()
        if isinstance(error, BrokenProcessPool):
            raise FirthError(
                "a process that reads the text was killed, perhaps for lack of memory; pass fewer "
                "`threads`"
            ) from error
        raise
    pool.shutdown()


def _initialize() -> None:
    """Ignore Ctrl-C, and exit when the parent is gone; if killed, it could not stop its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
