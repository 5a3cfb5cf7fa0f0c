"""Atomic writing of files and export folders, which never overwrites without ``--force``.

Corpora and runs use :func:`firth.corpora.artifacts.artifact.new_artifact` instead.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from firth.corpora.artifacts.artifact import (
    missing_parents,
    refuse_unwritable,
    remove_empty,
    sync_path,
    sync_tree,
)
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.system import unmap_unused


@contextlib.contextmanager
def atomic_output(out: Path, force: bool, may_replace: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a temporary path for ``out`` (a file or folder), and move it when the block ends.

    An error leaves nothing, nor folders that were made for it. With ``force`` a folder is replaced
    only if all its files are in ``may_replace``.
    """
    refuse_overwrite(out, force, may_replace)
    new_folders = missing_parents(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            partial = Path(folder) / out.name
            yield partial
            sync_tree(partial)
            unmap_unused()
            if out.is_dir():
                shutil.rmtree(out)
            os.replace(partial, out)
    except BaseException as error:
        remove_empty(new_folders)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise ArtifactError(f"{out}: cannot be written: {reason}") from error
        raise


def refuse_overwrite(out: Path, force: bool, may_replace: Sequence[str] = ()) -> None:
    """Raise if ``out`` cannot be made, or exists and ``force`` does not permit to replace it."""
    if not out.exists():
        refuse_unwritable(out)
        return
    if not force:
        raise ArtifactError(f"{out}: already exists; choose another OUT or pass `force=True`")
    if out.is_dir() and not {path.name for path in out.iterdir()} <= set(may_replace):
        raise ArtifactError(f"{out}: not an export folder; choose another OUT")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Replace a file atomically; on error the old file is kept."""
    _write(path, path.with_name(f"{path.name}.new"), write, sync=True)


def write_cached(path: Path, write: Callable[[Path], object]) -> None:
    """Replace a file of the cache atomically, without syncing; safe with concurrent writers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    _write(path, own, write, sync=False)


def _write(path: Path, new: Path, write: Callable[[Path], object], *, sync: bool) -> None:
    """Write ``new``, then rename it to ``path``."""
    try:
        write(new)
        if sync:
            sync_path(new)
        new.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # ENOSPC does not name the file
        raise
