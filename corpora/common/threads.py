"""Thread counts, ordered parallel maps and even division of work."""

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from firth.corpora.common.memory import available_threads

_MAX_THREADS = 256

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None, processes: int = 1) -> int:
    """Return ``threads``, or by default the available cores divided by ``processes``."""
    return min(threads or max(1, available_threads() // processes), _MAX_THREADS)


@contextlib.contextmanager
def worker_threads(
    threads: int | None, *, wait_on_error: bool = False
) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool that is shut down at the end; an error, such as Ctrl-C, does not wait for it.

    Threads cannot be stopped: they finish the task that they have begun, and start no other. Set
    ``wait_on_error`` if they write files, which would appear again after they were removed.
    """
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=wait_on_error, cancel_futures=True)
        raise
    pool.shutdown()


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Map a function that releases the GIL in threads, in order, up to ``2 * threads`` ahead."""
    with worker_threads(threads) as pool:
        yield from map_ahead(pool, function, items, 2 * threads)


def map_ahead(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], most: int
) -> Iterator[Result]:
    """Map a function over items in a pool; yield results in order, with at most so many pending."""
    pending: deque[Future[Result]] = deque()
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > most:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def even_ranges(work: np.ndarray, size: float) -> list[tuple[int, int]]:
    """Divide tasks into ranges (start, stop) of about ``size`` work each; ``work`` is (n,)."""
    done = np.cumsum(work, dtype=np.float64)
    if not len(done):
        return []
    targets = np.arange(size, done[-1], size)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(done, targets) + 1, [len(done)]]))
    cuts = cuts[cuts <= len(done)].tolist()
    return list(itertools.pairwise(cuts))
