"""Files and folders that are written whole or not at all, and never over others unasked.

For what is no corpus or run of ours: those have :func:`corpora.artifacts.artifact.new_artifact`.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from corpora.artifacts.artifact import sync_path, sync_tree
from corpora.common.errors import ArtifactError


@contextlib.contextmanager
def atomic_output(out: Path, force: bool, may_replace: Sequence[str] = ()) -> Iterator[Path]:
    """Make ``out`` (a file or a folder) in a folder of its own, and move it when it is whole."""
    refuse_overwrite(out, force, may_replace)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            partial = Path(folder) / out.name
            yield partial
            sync_tree(partial)
            if out.is_dir():
                shutil.rmtree(out)
            os.replace(partial, out)
    except OSError as error:
        raise ArtifactError(f"{out}: cannot be written: {error.strerror or error}") from error


def refuse_overwrite(out: Path, force: bool, may_replace: Sequence[str] = ()) -> None:
    """Refuse to overwrite a file, or to replace a folder of other things, force or not."""
    if not out.exists():
        return
    if not force:
        raise ArtifactError(f"{out}: exists already; choose another OUT or pass `force=True`")
    if out.is_dir() and not {path.name for path in out.iterdir()} <= set(may_replace):
        raise ArtifactError(f"{out}: is a folder that no export made; choose another OUT")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file that is there only when it is whole; what stood there is replaced.

    Nothing is left beside it where it cannot be written.
    """
    _write(path, path.with_name(f"{path.name}.new"), write, sync=True)


def write_cached(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file of the cache, as :func:`write_whole`: perhaps while other processes do.

    It can be made again, and is not brought to the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    _write(path, own, write, sync=False)


def _write(path: Path, new: Path, write: Callable[[Path], object], *, sync: bool) -> None:
    """Write a file beside its place, and rename it."""
    try:
        write(new)
        if sync:
            sync_path(new)
        new.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # a full disk does not say what it refused
        raise
