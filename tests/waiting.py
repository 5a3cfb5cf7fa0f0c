"""Waiting for what another process does, on however slow a machine."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 3600.0  # seconds; ends what hangs, and bounds no speed


def wait_for(
    condition: Callable[[], object], process: subprocess.Popen | None = None, *, patience=PATIENCE
) -> None:
    """Wait until a condition holds; raise if the process that should bring it about has ended."""
    end = time.monotonic() + patience
    while not condition():
        # looked at again, since it may have done its work between two looks and ended
        assert process is None or process.poll() is None or condition(), "the process has ended"
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.005)


def processes_in_group(group: int) -> int:
    """Count the living processes of a group, as Linux lists them."""
    return sum(_group_of(path) == group for path in Path("/proc").glob("[0-9]*"))


def _group_of(process: Path) -> int | None:
    """The process group; None if the process has ended."""
    try:
        state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return None
    return None if state == "Z" else int(group)
