"""One process at a time: a lock that the system releases when its process ends or is killed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from firth.corpora.common.errors import ArtifactError

_SECONDS = 1  # in which the system closes the files of a process that was killed


@contextlib.contextmanager
def locked(path: Path, busy: Exception | None = None, waiting: str = "") -> Iterator[None]:
    """Hold the lock file ``path`` during a block; it is beside what it protects, not inside.

    If another process holds it, raise ``busy``, or note that we are ``waiting`` and wait.
    """
    from filelock import FileLock, Timeout  # lazy: takes a twentieth of a second

    from firth.corpora.common.reporting import note

    lock = FileLock(path)
    try:
        lock.acquire(timeout=_SECONDS, poll_interval=0.05)
    except Timeout:
        if busy is not None:
            raise busy from None
        note(waiting)
        lock.acquire()
    except OSError as error:
        if not os.path.lexists(path):
            raise
        raise ArtifactError(f"{path}: cannot be written as a lock file; remove it") from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes it when it is released
            if not path.stat().st_size:  # else it is a file of the user's
                path.unlink()
        lock.release()
