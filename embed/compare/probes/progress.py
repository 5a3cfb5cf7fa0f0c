"""How far the training of probes is, for the progress display of the comparison.

Loops over decays, rates and epochs report through :func:`steps`. They are nested in each other, and
run in the threads of several evaluations, so each thread has its own range to report.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class _Range(NamedTuple):
    """The part of a measurement, as shares of it, that the running code is."""

    report: Callable[[float], None]
    start: float
    stop: float


_UNSEEN = _Range(lambda share: None, 0.0, 1.0)
_RANGE: ContextVar[_Range] = ContextVar("range", default=_UNSEEN)


@contextmanager
def reporting_shares(report: Callable[[float], None]) -> Iterator[None]:
    """Report, in this thread, the finished share of the measurement in the block."""
    token = _RANGE.set(_Range(report, 0.0, 1.0))
    try:
        yield
    finally:
        _RANGE.reset(token)


@contextmanager
def share(start: float, stop: float) -> Iterator[None]:
    """Let the block be a part of the running work, from one share of it to another."""
    whole = _RANGE.get()
    first, last = (whole.start + (whole.stop - whole.start) * each for each in (start, stop))
    token = _RANGE.set(_Range(whole.report, first, last))
    try:
        yield
        whole.report(last)
    finally:
        _RANGE.reset(token)


def steps(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items, each an equal part of the running work.

    >>> with reporting_shares(lambda share: print(f"{share:.3f}")), share(0.5, 1):
    ...     for _ in steps("ab"):
    ...         for _ in steps("abc"):
    ...             break
    0.750
    1.000
    1.000
    """
    for place, item in enumerate(items):
        with share(place / len(items), (place + 1) / len(items)):
            yield item
