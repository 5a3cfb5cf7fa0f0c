"""Memory budgets and available cores."""

import os
import re
from collections.abc import Callable
from typing import Any

from firth.corpora.common.errors import SettingError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


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
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def require_memory(needed: int, memory: str | None, what: str, remedy: str) -> None:
    """Raise if ``what`` needs more bytes than were asked for; None asks for nothing."""
    if memory is None or needed <= parse_memory(memory):
        return
    least = f"`memory={-(-needed >> 20)}M`"
    raise SettingError(f"`memory={memory}`: {what} at least {least}; pass that, or {remedy}")


def memory_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--memory`` to a command that refuses what takes more."""
    import click

    what = "Most memory to take, such as 1G or 4G; what takes more is refused."
    return click.option("--memory", metavar="SIZE", help=what)(command)
