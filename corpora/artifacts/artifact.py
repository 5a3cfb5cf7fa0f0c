"""Atomic directories: a corpus or run is either complete or absent.

``OUT`` is written as ``OUT.partial/``, whose process holds ``OUT.partial.lock``. When
everything is written, files are checksummed and synced, and the directory is renamed. A
killed process leaves ``OUT.partial/`` behind, which the same command clears or resumes.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.lock import locked
from firth.corpora.common.cache import other_place
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note
from firth.corpora.common.system import WINDOWS, system, unmap_unused

CHECKSUMS = "checksums.json"
MAKER = "maker.json"
SCRATCH = "scratch"  # of a partial artifact: the files of tasks, which are removed at the end
LOCK = ".partial.lock"  # end of the name of a lock file
# Errors of a disk that cannot be written, except a full one; EFBIG: beyond `ulimit -f`.
_WRITE_ERRORS = (
    errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EFBIG, errno.EIO,
    errno.ENAMETOOLONG,
)  # fmt: skip


@contextlib.contextmanager
def new_artifact(
    out: Path, maker: Mapping[str, Any], *, force: bool = False, resume: str | None = None
) -> Iterator[Path]:
    """Yield ``out.partial`` to write in, and publish it as ``out`` when the block ends.

    ``maker`` (command and settings) is stored in ``maker.json``, so that an interrupted
    artifact is resumed only by the same work. ``resume`` names the subfolder of resumable work,
    which is no part of the artifact: if set, an error keeps the files that were written, else
    everything is removed.
    """
    out, partial, aside = artifact_paths(out)
    refuse_existing(out, force)
    with _locked(out, partial):
        with _disk_errors(out, every=True):
            _check_again(out, partial, aside, force)
            _prepare_partial(out, maker, force, resume)
        try:
            with _disk_errors(out):
                yield partial
                write_json(partial / CHECKSUMS, checksums(partial, resume))
                sync_tree(partial)
                (partial / MAKER).unlink()  # last, so that work that fills the disk can be resumed
                if resume:
                    shutil.rmtree(partial / resume, ignore_errors=True)
                sync_path(partial)
                _publish(partial, out, aside)
        except BaseException as error:
            if resume and _holds_work(partial):
                if isinstance(error, KeyboardInterrupt) and (partial / resume).exists():
                    note("interrupted; run the same command to resume")
            elif partial.exists():
                _remove(partial, MAKER)
            raise


def _holds_work(partial: Path) -> bool:
    """Return whether a partial directory has files that are worth keeping."""
    files = (name for _, _, names in os.walk(partial) for name in names)  # others may remove some
    return any(name != MAKER for name in files)


@contextlib.contextmanager
def _locked(out: Path, partial: Path) -> Iterator[None]:
    """Make a partial directory and hold its lock; remove the folders made for it if empty."""
    busy = f"{partial}: another process is writing it; wait for it or choose another `out`"
    new_folders = missing_parents(partial)
    try:
        with contextlib.ExitStack() as stack:
            with _disk_errors(out, every=True):
                _refuse_foreign(partial, MAKER, CHECKSUMS)
                partial.parent.mkdir(parents=True, exist_ok=True)
                lock = partial.with_name(out.name + LOCK)
                stack.enter_context(locked(lock, ArtifactError(busy)))
                partial.mkdir(exist_ok=True)
            yield
    finally:
        remove_empty(new_folders)


def artifact_paths(out: Path) -> tuple[Path, Path, Path]:
    """Return the paths of an artifact, its partial directory and its replaced predecessor."""
    out = Path(os.path.realpath(out))  # a symbolic link is kept, its target is written
    return out, Path(f"{out}.partial"), Path(f"{out}.replaced")


def missing_parents(path: Path) -> list[Path]:
    """Return the folders that are to be made for a path, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, the innermost first, up to one that others use by now."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def refuse_unwritable(out: Path) -> None:
    """Raise if ``out``, which does not exist, cannot be made."""
    folder = next(each for each in out.absolute().parents if each.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        reason = "no permission to write" if folder.is_dir() else "not a folder"
        raise ArtifactError(
            f"{out}: cannot be written: {folder}: {reason}; {other_place(out, 'OUT')}"
        )


def refuse_existing(out: Path, force: bool) -> None:
    """Raise if ``out`` cannot be made, or exists; ``force`` permits artifacts and empty folders."""
    with _disk_errors(out, every=True):
        if not out.exists():
            refuse_unwritable(out)
            return
        if not force:
            raise ArtifactError(f"{out}: already exists; choose another `out` or pass `force=True`")
        if not (out / CHECKSUMS).is_file() and not (out.is_dir() and not any(out.iterdir())):
            raise ArtifactError(f"{out}: not a corpus or run; `force=True` will not overwrite it")


def verify(directory: Path, names: Sequence[str] | None = None) -> None:
    """Raise unless the files of an artifact (``names``, or all) match their checksums."""
    expected = read_json(directory / CHECKSUMS)
    if not isinstance(expected, dict):
        raise ArtifactError(f"{directory / CHECKSUMS}: is damaged; recreate {directory.name}")
    for name in expected if names is None else names:
        path = directory / name
        if not path.is_file():
            raise ArtifactError(f"{path}: the file is missing; recreate {directory.name}")
        if checksum(path) != expected.get(name):
            raise ArtifactError(
                f"{path}: checksum mismatch, the file is damaged; recreate {directory.name}"
            )


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums(directory: Path, without: str | None = None) -> dict[str, str]:
    """Return the SHA-256 of every file below a directory but one folder and our bookkeeping."""
    names = sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file()
        and path.name not in (MAKER, CHECKSUMS)
        and not path.name.endswith(LOCK)
        and path.relative_to(directory).parts[0] != without
    )
    from firth.corpora.common.threads import worker_threads  # lazy: imports numpy

    with worker_threads(os.cpu_count()) as pool:  # hashlib releases the GIL
        return dict(
            zip(names, pool.map(checksum, (directory / name for name in names)), strict=True)
        )


def fingerprint(value: Any) -> str:
    """Return a short hash of a JSON value; key order does not matter."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


def read_json(path: Path) -> Any:
    """Read a JSON file of an artifact."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(
            f"{path}: no such file; is {path.parent} a finished artifact?"
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read as JSON: {error}") from None


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file in UTF-8, unescaped, with a final newline."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    # non-UTF-8 paths contain lone surrogates, which are written as \udcff
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")


def sync_path(path: Path) -> None:
    """Sync a file, or the entries of a directory, to disk."""
    on_windows = system() == WINDOWS
    if on_windows and path.is_dir():  # which cannot be opened there
        return
    descriptor = os.open(path, os.O_RDWR if on_windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Sync a file, or a directory with its contents, to disk."""
    for each in [*path.rglob("*"), path]:
        sync_path(each)


def _refuse_foreign(directory: Path, *marks: str) -> None:
    """Raise if a directory exists and contains none of our marker files."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        names = [directory.name] if directory.exists() else []  # else a parent is a file
    if names and not set(marks) & set(names):
        raise ArtifactError(
            f"{directory}: exists and is not a partial artifact; move it or choose another `out`"
        )


def _check_again(out: Path, partial: Path, aside: Path, force: bool) -> None:
    """Repeat the checks under the lock, when no other process can be writing ``out``."""
    try:
        _recover(out, aside)
        refuse_existing(out, force)
    except ArtifactError:
        if not os.listdir(partial):
            partial.rmdir()
        raise


def _prepare_partial(out: Path, maker: Mapping[str, Any], force: bool, resume: str | None) -> None:
    """Clear an interrupted artifact, or keep it to resume; raise if another command left it."""
    if resumes(out, maker, force=force, resume=resume):
        return
    partial = artifact_paths(out)[1]
    clear_partial(partial)
    write_json(partial / MAKER, maker)


def clear_partial(partial: Path, *kept: str) -> None:
    """Remove all of a partial artifact but the named folders and the record of its maker."""
    for path in partial.iterdir():
        if path.name not in (MAKER, *kept):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def resumes(out: Path, maker: Mapping[str, Any], *, force: bool, resume: str | None) -> bool:
    """Return whether what an interrupted process left would be resumed; raise if it differs."""
    partial = artifact_paths(out)[1]
    maker = json.loads(json.dumps(maker))
    begun = (partial / MAKER).is_file()
    other = (unfinished_maker(out) if begun else None) or maker
    if begun and resume and other == maker and (out.exists() or not force):
        return True  # if out exists, --force refers to it, not to its partial successor
    if not force:
        _refuse_complete(partial, out)
    if begun and not force:
        if other.get("command") != maker.get("command"):
            raise ArtifactError(
                f"{partial}: left unfinished by {other.get('command')!r}; "
                "run that command again, choose another `out` or pass `force=True`"
            )
        if resume and (partial / resume).is_dir() and any((partial / resume).iterdir()):
            keys = sorted({*maker, *other})
            differ = ", ".join(key for key in keys if maker.get(key) != other.get(key))
            raise ArtifactError(
                f"{partial}: left unfinished with different {differ}; pass the same values "
                "to resume, choose another `out` or pass `force=True`"
            )
    return False


def _refuse_complete(partial: Path, out: Path) -> None:
    """Raise if a partial directory is complete: its process was killed before the rename."""
    if (partial / MAKER).exists() or not (partial / CHECKSUMS).is_file():
        return
    try:
        verify(partial)
    except ArtifactError:
        return
    raise ArtifactError(f"{partial}: complete, but not yet renamed; move it to {out}")


def unfinished_maker(out: Path) -> dict[str, Any] | None:
    """Return the maker of an unfinished artifact; None if there is none, or its record is cut."""
    try:
        maker = read_json(artifact_paths(out)[1] / MAKER)
    except ArtifactError:
        return None
    return maker if isinstance(maker, dict) else None


def _remove(directory: Path, mark: str) -> None:
    """Remove a directory, its marker file last, so that a killed removal can be repeated."""
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != mark:
            path.unlink(missing_ok=True)
    shutil.rmtree(directory, ignore_errors=True)


def _publish(partial: Path, out: Path, aside: Path) -> None:
    """Rename into place; a predecessor is renamed first and removed last."""
    unmap_unused()
    if out.exists():
        out.rename(aside)
    try:
        partial.rename(out)
    except BaseException:
        if aside.exists() and not out.exists():
            aside.rename(out)
        raise
    sync_path(out.parent)
    if aside.exists():
        _remove(aside, CHECKSUMS)


def _recover(out: Path, aside: Path) -> None:
    """Repair the state after a process was killed between the two renames."""
    _refuse_foreign(aside, CHECKSUMS)
    if aside.exists() and out.exists():
        _remove(aside, CHECKSUMS)
    elif aside.exists():
        aside.rename(out)


@contextlib.contextmanager
def _disk_errors(out: Path, *, every: bool = False) -> Iterator[None]:
    """Turn errors of a full or read-only disk, or every ``OSError``, into an ArtifactError."""
    try:
        yield
    except OSError as error:
        # numpy's tofile() sets no errno: "123 requested and 45 written"
        cut_short = error.errno is None and str(error).endswith(" written")
        if cut_short or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ArtifactError(
                f"{out}: the disk is full; free some space or {other_place(out)}"
            ) from error
        if every or error.errno in _WRITE_ERRORS:
            raise ArtifactError(
                f"{out}: cannot be written: {error.strerror}; {other_place(out)}"
            ) from error
        raise
