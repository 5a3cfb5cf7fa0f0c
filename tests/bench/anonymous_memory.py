"""The anonymous memory of a process and its children, sampled while they run (Linux).

Mapped files do not count, since the system can drop them.
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import harness

_SAMPLE_SECONDS = 0.05


def anonymous_bytes(pid: int) -> int:
    """Return the anonymous memory of a process and its children."""
    found = 0
    own = Path(f"/proc/{pid}/cmdline")
    for each in harness._tree(pid):
        with contextlib.suppress(OSError):  # it has ended
            command = Path(f"/proc/{each}/cmdline")
            if each != pid and command.read_bytes() == own.read_bytes():
                continue  # it is about to become another program, and shares its parent's memory
            status = Path(f"/proc/{each}/status").read_text()
            if line := re.search(r"RssAnon:\s+(\d+)", status):
                found += int(line[1]) * 1024
    return found


@contextlib.contextmanager
def sampled_anonymous(pid: int) -> Iterator[list[int]]:
    """Collect the anonymous memory of a process while it runs."""
    samples, stop = [0], threading.Event()

    def sample() -> None:
        while not stop.wait(_SAMPLE_SECONDS):
            samples.append(anonymous_bytes(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
