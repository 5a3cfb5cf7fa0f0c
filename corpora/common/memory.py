"""Memory budgets and available cores."""

import os
import re

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
    import psutil  # lazy: takes 25 ms

    return int(psutil.virtual_memory().total)


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1
