"""Memory budgets and available cores."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from firth.corpora.common.errors import SettingError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TOLERANCE = 8 << 20  # by which a program differs from one start to the next
_limit: tuple[str, int] | None = None  # of large allocations, and what of it is reserved


def parse_memory(size: str | None) -> int:
    """Return a budget such as ``4G`` or ``512M`` in bytes; None is half of the memory."""
    if size is None:
        return machine_memory() // 2
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", size.strip().lower())
    if not found or not float(found[1]):
        raise SettingError(f"`memory` must be a size such as 4G or 512M, got {size!r}")
    return int(float(found[1]) * _UNITS[found[2]])


def machine_memory() -> int:
    """Return the bytes of memory that this machine has."""
    import psutil  # lazy: takes 25 ms

    return int(psutil.virtual_memory().total)


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def require_memory(needed: int, memory: str | None, what: str, remedy: str) -> None:
    """Raise if ``what`` is to allocate more bytes than a limit, by default all of the machine's."""
    limit = machine_memory() if memory is None else parse_memory(memory)
    if needed <= limit:
        return
    bound = f"`memory={memory}`" if memory else f"this machine has {limit >> 20:,} MB"
    least = f"`memory={-(-needed >> 20)}M`"
    raise SettingError(f"{bound}: {what} at least {least}; pass that, or {remedy}")


@contextlib.contextmanager
def limited_memory(memory: str | None, reserve: int) -> Iterator[None]:
    """Bound what a block allocates to ``memory``, of which a reserve is for small things."""
    global _limit
    before, _limit = _limit, None if memory is None else (memory, reserve)
    try:
        yield
    finally:
        _limit = before


def require_room(n_bytes: int, what: str, remedy: str) -> None:
    """Raise if so many more bytes, which are about to be allocated, exceed the limit of a block."""
    if _limit is None:
        return
    from firth.corpora.common.peak_memory import anonymous_bytes  # lazy: imports psutil

    memory, reserve = _limit
    needed = anonymous_bytes() + n_bytes + reserve
    if needed > parse_memory(memory):
        require_memory(needed + _TOLERANCE, memory, f"{what} takes", remedy)


def memory_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--memory`` to a command that refuses what takes more."""
    from firth.corpora.common.command import MACHINE, option

    what = "Most memory to take, such as 1G or 4G; what takes more is refused."
    return option("--memory", metavar="SIZE", group=MACHINE, rare=True, help=what)(command)
