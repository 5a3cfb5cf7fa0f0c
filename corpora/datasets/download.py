"""Files fetched once from their publisher: resumed, checked, then taken; never half there."""

import contextlib
import dataclasses
import email.message
import fcntl
import hashlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from corpora.artifacts.atomic import write_whole
from corpora.common.errors import SourceError
from corpora.common.reporting import Progress, note, progress

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_ATTEMPTS = 3
_OK, _PARTIAL, _RANGE_NOT_SATISFIABLE = 200, 206, 416
_BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Download:
    """A zip archive that a publisher offers, and the one file of it that is wanted."""

    url: str  # where the archive is
    member: str  # the file in it, and the name it gets
    max_bytes: int  # no more than this is unpacked
    md5: str  # the publisher's checksum of the unpacked file


def fetch(wanted: Download, folder: Path, *, timeout: float = _TIMEOUT) -> Path:
    """Give the path of a file, downloading it the first time.

    An interrupted download is resumed, in this run or a later one. What lies
    in the folder already is held against its checksum at each use.
    """
    target = folder / wanted.member
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / f"{wanted.member}.lock", wanted.url):
        if target.exists():
            _check_kept(wanted, target)
            return target
        archive = folder / f"{wanted.member}.zip"
        if not archive.exists():
            _retrieve(wanted.url, archive, target, timeout)
        _unpack(wanted, archive, target)
    return target


def _retrieve(url: str, archive: Path, target: Path, timeout: float) -> None:
    """Download into ``archive.part``, again from where it broke off, then rename."""
    part = archive.with_name(archive.name + ".part")
    with progress("download", "bytes") as tell:
        for attempt in range(1, _ATTEMPTS + 1):
            before = _size(part)
            try:
                if _continue(url, part, timeout, tell):
                    break
            except urllib.error.HTTPError as error:
                error.close()
                raise SourceError(
                    f"{url}: the server answered {error.code} {error.reason}; "
                    f"try again later or put the file at {target}"
                ) from None
            except (urllib.error.URLError, *_BROKEN) as error:
                if not _size(part) > before:
                    raise _unreachable(url, target, error) from None
            if attempt == _ATTEMPTS:
                raise SourceError(
                    f"{url}: the connection broke after {_size(part)} bytes; "
                    "the same command goes on from there"
                )
    os.replace(part, archive)
    _validator_path(part).unlink(missing_ok=True)


def _unreachable(url: str, target: Path, error: Exception) -> SourceError:
    """What to say when there is no network."""
    reason = getattr(error, "reason", None) or error
    return SourceError(
        f"{url}: cannot be reached ({reason}); go online or put the file at {target}"
    )


def _continue(url: str, part: Path, timeout: float, tell: Progress) -> bool:
    """Fetch what is missing of ``part``; True when it is whole."""
    request = urllib.request.Request(url, headers={"User-Agent": "firth"})
    have = _size(part)
    validator = _read_validator(part, url)
    if have and validator:
        # a changed file comes whole, so that two versions are never joined
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", validator)
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code != _RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        if _total(error.headers, 0) == have:
            return True
        part.unlink()
        return False
    with response:
        start = have if response.status == _PARTIAL else 0
        if start and not (response.headers["Content-Range"] or "").startswith(f"bytes {have}-"):
            raise SourceError(f"{url}: the server sent another part than was asked for; try again")
        _write_validator(part, url, response.headers)
        total = _total(response.headers, start)
        got = _append(response, part, start, total, tell)
    return total is None or got == total


def _append(response: Any, part: Path, start: int, total: int | None, tell: Progress) -> int:
    """Write the rest of an answer from ``start`` on; the size that was reached."""
    got = start
    with open(part, "r+b" if start else "wb") as file:
        file.truncate(start)
        file.seek(start)
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            got += len(chunk)
            tell(got, total)
    return got


def _total(headers: email.message.Message, start: int) -> int | None:
    """Bytes of the whole file, as the server tells."""
    if found := re.search(r"/(\d+)$", headers["Content-Range"] or ""):
        return int(found[1])
    length = headers["Content-Length"]
    return start + int(length) if length and length.isdigit() else None


def _validator_path(part: Path) -> Path:
    """Where it stands which version of the file was begun."""
    return part.with_name(part.name + ".json")


def _write_validator(part: Path, url: str, headers: email.message.Message) -> None:
    """Keep the strong entity tag, else the date, of the version begun (RFC 9110, 13.1.5)."""
    tag = headers["ETag"]
    strong = tag if tag and not tag.startswith("W/") else headers["Last-Modified"]
    _validator_path(part).write_text(json.dumps({"url": url, "validator": strong}))


def _read_validator(part: Path, url: str) -> str | None:
    """The version that was begun, if it was begun at this address."""
    try:
        known = json.loads(_validator_path(part).read_text())
        return known["validator"] if known["url"] == url else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _unpack(wanted: Download, archive: Path, target: Path) -> None:
    """Unpack the one file, checked, into place; the archive goes, sound or not."""
    try:
        with zipfile.ZipFile(archive) as zipped, zipped.open(wanted.member) as source:
            write_whole(target, lambda new: _copy(source, new, wanted))
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        archive.unlink()
        raise SourceError(
            f"{wanted.url}: is no zip archive with a sound file {wanted.member!r} "
            f"({error}); nothing was taken"
        ) from None
    except SourceError:
        archive.unlink()
        raise
    archive.unlink()


def _copy(source: IO[bytes], new: Path, wanted: Download) -> None:
    """Write a stream to a file; refuse more than is expected, or something else."""
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    with open(new, "wb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > wanted.max_bytes:
                raise SourceError(
                    f"{wanted.url}: {wanted.member} is larger than {wanted.max_bytes} bytes; "
                    "nothing was taken"
                )
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != wanted.md5:
        raise SourceError(
            f"{wanted.url}: the MD5 of {wanted.member} is {digest.hexdigest()}, its publisher "
            f"states {wanted.md5}; nothing was taken, try again"
        )


def _check_kept(wanted: Download, target: Path) -> None:
    """Hold a file of the cache against the publisher's checksum."""
    with open(target, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != wanted.md5:
        raise SourceError(
            f"{target}: its MD5 is {found}, the publisher of {wanted.url} states "
            f"{wanted.md5}; delete it to fetch it"
        )


def _size(path: Path) -> int:
    """Bytes of a file; 0 without one."""
    return path.stat().st_size if path.exists() else 0


@contextlib.contextmanager
def _alone(lock: Path, url: str) -> Iterator[None]:
    """Wait until no other process fetches the same file."""
    with open(lock, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note(f"{url}: another process is fetching it; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
