"""Threads over pieces of work, results taken in order."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from corpora.common.memory import available_threads

_MOST_THREADS = 256

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None, processes: int = 1) -> int:
    """Settle the number of threads."""
    return min(threads or max(1, available_threads() // processes), _MOST_THREADS)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Map a function that lets go of the GIL over items, in threads.

    Results come in the order of the items, whatever the threads; only a few
    are ever waiting, so that a slow consumer does not fill the memory.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def even_ranges(work: np.ndarray, size: float) -> list[tuple[int, int]]:
    """Cut a sequence of tasks into ranges of about the same work."""
    # work: float or int (n,)
    done = np.cumsum(work, dtype=np.float64)
    if not len(done):
        return []
    targets = np.arange(size, done[-1], size)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(done, targets) + 1, [len(done)]]))
    cuts = cuts[cuts <= len(done)].tolist()
    return list(itertools.pairwise(cuts))
