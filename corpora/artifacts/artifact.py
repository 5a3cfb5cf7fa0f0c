"""Directories that are whole or absent: made beside their place, checked, then renamed.

``OUT`` is made as ``OUT.partial/``, locked by its maker for as long as that
process lives. When everything is written: checksums, fsync, rename. A process
that is killed leaves ``OUT.partial/`` behind, which nobody takes for a
finished artifact and which the same command clears (or resumes).
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from corpora.common.errors import ArtifactError

CHECKSUMS = "checksums.json"
MAKER = "maker.json"
_LOCK = ".lock"
_CHUNK = 1 << 22
# What a disk says to a writer, but for being full; EFBIG: beyond `ulimit -f`.
_REFUSALS = (
    errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EFBIG, errno.EIO,
    errno.ENAMETOOLONG,
)  # fmt: skip


@contextlib.contextmanager
def new_artifact(
    out: Path, maker: Mapping[str, Any], *, force: bool = False, resume: str | None = None
) -> Iterator[Path]:
    """Make the artifact ``out``: yield ``out.partial`` to write in, then publish it.

    On leaving the block without an error every file is checksummed and synced
    and the directory renamed to ``out``. After an error the partial directory
    stays if ``resume`` is set, else it is removed.
    """
    out, partial, aside = artifact_paths(out)
    with _disk_errors(out, every=True):
        refuse_existing(out, force)
        _refuse_others(partial, _LOCK, MAKER)
        new_folders = [folder for folder in partial.parents if not folder.exists()]
        partial.mkdir(parents=True, exist_ok=True)
        lock = open(partial / _LOCK, "a")  # noqa: SIM115 - closed below, after the rename
    with lock:
        _lock(lock, partial)
        with _disk_errors(out, every=True):
            _take_place(out, partial, aside, force)
            _take_over(out, maker, force, resume)
        try:
            with _disk_errors(out):
                yield partial
                write_json(partial / CHECKSUMS, checksums(partial))
                sync_tree(partial)
                (partial / MAKER).unlink()  # so late that a full disk leaves it to resume from
                sync_path(partial)
                _publish(partial, out, aside)
        except BaseException:
            if not resume and partial.exists():
                _remove(partial, _LOCK)
                with contextlib.suppress(OSError):  # others may have come to use them
                    for folder in new_folders:
                        folder.rmdir()
            raise
    (out / _LOCK).unlink(missing_ok=True)


def artifact_paths(out: Path) -> tuple[Path, Path, Path]:
    """Name where an artifact stands, is made, and steps aside while another takes its place."""
    out = Path(os.path.realpath(out))  # a link stays, what it names is made
    return out, Path(f"{out}.partial"), Path(f"{out}.replaced")


def refuse_existing(out: Path, force: bool) -> None:
    """Refuse to overwrite a finished artifact, or anything that is not a directory of ours."""
    if not out.exists():
        return
    if not force:
        raise ArtifactError(f"{out}: exists already; choose another `out` or pass `force=True`")
    if not (out / CHECKSUMS).is_file() and not (out.is_dir() and not any(out.iterdir())):
        raise ArtifactError(f"{out}: is no corpus or run, so `force=True` does not replace it")


def verify(directory: Path, names: Sequence[str] | None = None) -> None:
    """Hold the files of an artifact against its checksums."""
    expected = read_json(directory / CHECKSUMS)
    if not isinstance(expected, dict):
        raise ArtifactError(f"{directory / CHECKSUMS}: is damaged; make {directory.name} again")
    for name in expected if names is None else names:
        path = directory / name
        if not path.is_file():
            raise ArtifactError(f"{path}: the file is missing; make {directory.name} again")
        if checksum(path) != expected.get(name):
            raise ArtifactError(
                f"{path}: the checksum differs, the file is damaged; make {directory.name} again"
            )


def checksum(path: Path) -> str:
    """Hash the bytes of one file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def checksums(directory: Path) -> dict[str, str]:
    """Hash every file below a directory, the lock and the checksums themselves excepted."""
    names = sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file() and path.name not in (_LOCK, MAKER, CHECKSUMS)
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashlib lets go of the GIL
        return dict(
            zip(names, pool.map(checksum, (directory / name for name in names)), strict=True)
        )


def fingerprint(value: Any) -> str:
    """Name a JSON value by its content."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


def read_json(path: Path) -> Any:
    """Read one JSON file of an artifact."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(
            f"{path}: no such file; is {path.parent} a finished artifact?"
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read as JSON: {error}") from None


def write_json(path: Path, value: Any) -> None:
    """Write one JSON file, UTF-8 and unescaped, a line end last."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    # a path that is not UTF-8 reaches us as lone surrogates, which JSON holds as \udcff
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def sync_path(path: Path) -> None:
    """Bring a file, or a directory's own entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Bring a file, or a directory and all that is in it, to the disk."""
    for each in [*path.rglob("*"), path]:
        sync_path(each)


def _refuse_others(directory: Path, *marks: str) -> None:
    """A directory of the name that we need, but without our marks, is somebody else's."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        names = [directory.name] if directory.exists() else []  # else its parent is a file
    if names and not set(marks) & set(names):
        raise ArtifactError(
            f"{directory}: stands in the way and is no unfinished work of ours; "
            "move it or choose another `out`"
        )


def _take_place(out: Path, partial: Path, aside: Path, force: bool) -> None:
    """Look once more, now that nobody else can be making ``out``."""
    try:
        _put_back(out, aside)
        refuse_existing(out, force)
    except ArtifactError:
        if os.listdir(partial) == [_LOCK]:
            _remove(partial, _LOCK)
        raise


def _lock(lock: Any, partial: Path) -> None:
    """Hold the lock for as long as this process lives, however it ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # its last holder may have published or removed the directory since we opened the file
        ours = os.path.samestat(os.fstat(lock.fileno()), os.stat(partial / _LOCK))
    except OSError:
        ours = False
    if not ours:
        raise ArtifactError(
            f"{partial}: another process is making it; wait for it or choose another `out`"
        )


def _take_over(out: Path, maker: Mapping[str, Any], force: bool, resume: str | None) -> None:
    """Clear what an interrupted maker left, or keep it to resume; refuse another maker's."""
    partial = artifact_paths(out)[1]
    left = [path for path in partial.iterdir() if path.name != _LOCK]
    maker = json.loads(json.dumps(maker))
    begun = (partial / MAKER).is_file()
    other = (_maker_of(partial) if begun else None) or maker
    if begun and resume and other == maker and (out.exists() or not force):
        return  # where something stands at out, --force means that, not the work on its successor
    if not force:
        _refuse_whole(partial, out)
    if begun and not force:
        if other.get("command") != maker.get("command"):
            raise ArtifactError(
                f"{partial}: was left unfinished by {other.get('command')!r}; "
                "run that again, choose another `out` or pass `force=True`"
            )
        if resume and (partial / resume).is_dir() and any((partial / resume).iterdir()):
            keys = sorted({*maker, *other})
            differ = ", ".join(key for key in keys if maker.get(key) != other.get(key))
            raise ArtifactError(
                f"{partial}: was left unfinished with another {differ}; give the same to go on, "
                "choose another `out` or pass `force=True`"
            )
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_json(partial / MAKER, maker)


def _refuse_whole(partial: Path, out: Path) -> None:
    """Refuse to clear what lacks only its name, its maker having been killed before the rename."""
    if (partial / MAKER).exists() or not (partial / CHECKSUMS).is_file():
        return
    try:
        verify(partial)
    except ArtifactError:
        return
    raise ArtifactError(f"{partial}: is whole, and only its name is missing; move it to {out}")


def _maker_of(partial: Path) -> dict[str, Any] | None:
    """Who left a partial directory; None if he was killed while he wrote his name."""
    try:
        maker: dict[str, Any] = json.loads((partial / MAKER).read_bytes())
    except ValueError:
        return None
    return maker


def _remove(directory: Path, mark: str) -> None:
    """Remove a directory, what marks it as ours last: we may be killed on the way."""
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != mark:
            path.unlink(missing_ok=True)
    shutil.rmtree(directory, ignore_errors=True)


def _publish(partial: Path, out: Path, aside: Path) -> None:
    """Rename into place; what is replaced steps aside first and is removed last."""
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


def _put_back(out: Path, aside: Path) -> None:
    """Mend what a process killed between the two renames left behind."""
    _refuse_others(aside, CHECKSUMS)
    if aside.exists() and out.exists():
        _remove(aside, CHECKSUMS)
    elif aside.exists():
        aside.rename(out)


@contextlib.contextmanager
def _disk_errors(out: Path, *, every: bool = False) -> Iterator[None]:
    """Turn a full or read-only disk into one line; every refusal, where only paths are touched."""
    try:
        yield
    except OSError as error:
        # numpy's tofile() tells no errno: "123 requested and 45 written"
        cut_short = error.errno is None and str(error).endswith(" written")
        if cut_short or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ArtifactError(
                f"{out}: the disk is full; free some space or choose another `out`"
            ) from error
        if every or error.errno in _REFUSALS:
            raise ArtifactError(
                f"{out}: cannot be written: {error.strerror}; choose another `out`"
            ) from error
        raise
