"""The anonymous memory of a process and its children, and its peak during a block."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

_SAMPLE_SECONDS = 0.02
_FAMILY_SECONDS = 0.25  # between looks for children, each of which reads all processes there are


@dataclass
class Peak:
    """The most anonymous memory that was seen, in bytes."""

    bytes: int = 0


@contextlib.contextmanager
def peak_memory(pid: int | None = None) -> Iterator[Peak]:
    """Sample the anonymous memory of a process, by default this one, during a block."""
    peak, stop = Peak(anonymous_bytes(pid)), threading.Event()

    def sample() -> None:
        looked, family = -_FAMILY_SECONDS, []
        while not stop.wait(_SAMPLE_SECONDS):
            if time.monotonic() - looked >= _FAMILY_SECONDS:
                looked, family = time.monotonic(), _family(pid)
            peak.bytes = max(peak.bytes, sum(map(_anonymous, family)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()
        peak.bytes = max(peak.bytes, anonymous_bytes(pid))


def anonymous_bytes(pid: int | None = None) -> int:
    """Return the anonymous memory of a process and its children; 0 if it has ended."""
    return sum(map(_anonymous, _family(pid)))


def _family(pid: int | None) -> list[psutil.Process]:
    """Return a process and its children.

    A child that was forked but runs no program of its own yet shares the pages of its parent.
    """
    family: list[psutil.Process] = []
    lines: dict[int, list[str]] = {}
    with contextlib.suppress(psutil.Error):  # it has ended
        process = psutil.Process(pid)
        for each in [process, *process.children(recursive=True)]:  # parents before their children
            with contextlib.suppress(psutil.Error):
                lines[each.pid] = each.cmdline()
                if each is process or lines[each.pid] != lines.get(each.ppid()):
                    family.append(each)
    return family


def _anonymous(process: psutil.Process) -> int:
    """Return the memory of a process without its mapped files; with them on macOS."""
    with contextlib.suppress(psutil.Error):
        found = process.memory_info()
        return int(getattr(found, "private", found.rss - getattr(found, "shared", 0)))
    return 0
