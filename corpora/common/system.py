"""The operating system, which nothing else asks for, and what differs between systems."""

import contextlib
import gc
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

WINDOWS, MACOS = "win32", "darwin"
_REFUSED = re.compile(r'[%/\\<>:"|?*\x00-\x1f]')  # by Windows; % begins an escape


def system() -> str:
    """Return the name of the system: ``win32`` is Windows, ``darwin`` is macOS."""
    return sys.platform  # noqa: TID251


def file_name(text: str) -> str:
    """Return a text as a part of a file's name, which ``urllib.parse.unquote`` undoes."""
    return _REFUSED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def unmap_unused() -> None:
    """Close the memory maps that nothing uses: Windows renames and removes no mapped file.

    Errors that numba catches while it compiles keep the variables of its callers until then.
    """
    if system() == WINDOWS:
        gc.collect()


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that is removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        try:
            yield Path(folder)
        finally:
            unmap_unused()
