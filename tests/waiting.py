"""Waiting for other processes, on machines of any speed."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 3600.0  # seconds; only ends what hangs


def wait_for(
    condition: Callable[[], object], process: subprocess.Popen | None = None, *, patience=PATIENCE
) -> None:
    """Wait until a condition holds; raise if the process that should cause it has ended."""
    end = time.monotonic() + patience
    while not condition():
        # checked again, since the process may have finished between the two checks
        assert process is None or process.poll() is None or condition(), "the process has ended"
        assert time.monotonic() < end, "timed out"
        time.sleep(0.005)


def processes_in_group(group: int) -> int:
    """Return the number of live processes of a group, from /proc."""
    return sum(_group_of(path) == group for path in Path("/proc").glob("[0-9]*"))


def _group_of(process: Path) -> int | None:
    """Return the process group; None if the process has ended."""
    try:
        state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return None
    return None if state == "Z" else int(group)
