"""The anonymous memory of a process and its children, and its peak during a block."""

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_SECONDS = 0.02


@dataclass
class Peak:
    """The most anonymous memory that was seen, in bytes."""

    bytes: int = 0


@contextlib.contextmanager
def peak_memory(pid: int | None = None) -> Iterator[Peak]:
    """Sample the anonymous memory of a process, by default this one, during a block."""
    peak, stop = Peak(anonymous_bytes(pid)), threading.Event()

    def sample() -> None:
        while not stop.wait(_SAMPLE_SECONDS):
            peak.bytes = max(peak.bytes, anonymous_bytes(pid))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()
        peak.bytes = max(peak.bytes, anonymous_bytes(pid))


def anonymous_bytes(pid: int | None = None) -> int:
    """Return the anonymous memory of a process and its children; 0 where it is not known.

    A child that was forked but runs no program of its own yet shares the pages of its parent.
    """
    pending, total = [(Path(f"/proc/{pid or 'self'}"), b"")], 0
    for process, parent in pending:  # grows in the loop
        with contextlib.suppress(OSError):  # it has ended, or there is no /proc
            line = (process / "cmdline").read_bytes()
            if line != parent:
                found = re.search(r"RssAnon:\s+(\d+)", (process / "status").read_text())
                total += 1024 * int(found[1]) if found else 0
            for children in process.glob("task/*/children"):
                pending += [(Path("/proc") / each, line) for each in children.read_text().split()]
    return total
