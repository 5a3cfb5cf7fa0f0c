"""Downloads that resume, verify checksums and never leave a partial file in place."""

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
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import Progress, note, progress

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without data
_ATTEMPTS = 3
_OK, _PARTIAL, _RANGE_NOT_SATISFIABLE = 200, 206, 416
_BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Download:
    """A published file, alone or inside a zip archive."""

    url: str  # of the archive if there is one
    name: str  # of the file, inside the archive and on disk
    max_bytes: int  # limit of the unpacked size
    checksum: str  # of the unpacked file: "md5:..." or "sha256:..."
    zipped: bool = False


def fetch(wanted: Download, folder: Path, *, timeout: float = _TIMEOUT) -> Path:
    """Return the path of a file, downloading it the first time.

    An interrupted download is resumed, also by a later call. A file that exists is checked
    against its checksum at each call.
    """
    target = folder / wanted.name
    folder.mkdir(parents=True, exist_ok=True)
    with _download_lock(folder / f"{wanted.name}.lock", wanted.url):
        if target.exists():
            _check_existing(wanted, target)
            return target
        download = folder / f"{wanted.name}.download"
        if not download.exists():
            _retrieve(wanted.url, download, target, timeout)
        _accept(wanted, download, target)
    return target


def _retrieve(url: str, download: Path, target: Path, timeout: float) -> None:
    """Download into ``download.part``, resuming after broken connections, then rename."""
    part = download.with_name(download.name + ".part")
    with progress("download", "bytes") as show:
        for attempt in range(1, _ATTEMPTS + 1):
            before = _size(part)
            try:
                if _resume(url, part, timeout, show):
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
                    "run the same command to resume"
                )
    os.replace(part, download)
    _validator_path(part).unlink(missing_ok=True)


def _unreachable(url: str, target: Path, error: Exception) -> SourceError:
    """Return the error for a missing network connection."""
    reason = getattr(error, "reason", None) or error
    return SourceError(
        f"{url}: cannot be reached ({reason}); check the connection or put the file at {target}"
    )


def _resume(url: str, part: Path, timeout: float, show: Progress) -> bool:
    """Download the missing rest of ``part``; return whether it is complete."""
    request = urllib.request.Request(url, headers={"User-Agent": "firth"})
    have = _size(part)
    validator = _read_validator(part, url)
    if have and validator:
        # a changed file is sent whole, so that two versions are never mixed
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
            raise SourceError(f"{url}: the server sent the wrong byte range; try again")
        _write_validator(part, url, response.headers)
        total = _total(response.headers, start)
        got = _append(response, part, start, total, show)
    return total is None or got == total


def _append(response: Any, part: Path, start: int, total: int | None, show: Progress) -> int:
    """Write a response to ``part`` from ``start`` on; return the size of the file."""
    got = start
    with open(part, "r+b" if start else "wb") as file:
        file.truncate(start)
        file.seek(start)
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            got += len(chunk)
            show(got, total)
    return got


def _total(headers: email.message.Message, start: int) -> int | None:
    """Return the size of the whole file in bytes; None if the server does not send it."""
    if found := re.search(r"/(\d+)$", headers["Content-Range"] or ""):
        return int(found[1])
    length = headers["Content-Length"]
    return start + int(length) if length and length.isdigit() else None


def _validator_path(part: Path) -> Path:
    """Return the path that records which version of the file was begun."""
    return part.with_name(part.name + ".json")


def _write_validator(part: Path, url: str, headers: email.message.Message) -> None:
    """Record the strong entity tag, else the date, of this version (RFC 9110, 13.1.5)."""
    tag = headers["ETag"]
    strong = tag if tag and not tag.startswith("W/") else headers["Last-Modified"]
    _validator_path(part).write_text(json.dumps({"url": url, "validator": strong}))


def _read_validator(part: Path, url: str) -> str | None:
    """Return the version that was begun, if it was from this URL."""
    try:
        known = json.loads(_validator_path(part).read_text())
        return known["validator"] if known["url"] == url else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _accept(wanted: Download, download: Path, target: Path) -> None:
    """Put the verified file in place, unpacked if zipped; delete the download, also if invalid."""
    try:
        with contextlib.ExitStack() as stack:
            source: IO[bytes] = stack.enter_context(open(download, "rb"))
            if wanted.zipped:
                archive = stack.enter_context(zipfile.ZipFile(source))
                source = stack.enter_context(archive.open(wanted.name))
            write_whole(target, lambda new: _copy(source, new, wanted))
    # damaged, without the file, cut short, of an unknown compression, or encrypted
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError,
            RuntimeError) as error:  # fmt: skip
        download.unlink()
        raise SourceError(
            f"{wanted.url}: not a zip archive with a valid file {wanted.name!r} "
            f"({error}); download discarded"
        ) from None
    except SourceError:
        download.unlink()
        raise
    download.unlink()


def _copy(source: IO[bytes], new: Path, wanted: Download) -> None:
    """Write a stream to a file; raise if it is too large or the checksum differs."""
    algorithm, _, expected = wanted.checksum.partition(":")
    digest = hashlib.new(algorithm, usedforsecurity=False)
    size = 0
    with open(new, "wb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > wanted.max_bytes:
                raise SourceError(
                    f"{wanted.url}: {wanted.name} is larger than {wanted.max_bytes} bytes; "
                    "download discarded"
                )
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != expected:
        raise SourceError(
            f"{wanted.url}: the {algorithm.upper()} of {wanted.name} is {digest.hexdigest()}, not "
            f"the expected {expected}; download discarded, try again"
        )


def _check_existing(wanted: Download, target: Path) -> None:
    """Raise if an existing file does not match the expected checksum."""
    algorithm, _, expected = wanted.checksum.partition(":")
    with open(target, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    if found.hexdigest() != expected:
        raise SourceError(
            f"{target}: the {algorithm.upper()} is {found.hexdigest()}, not {expected} as expected "
            f"from {wanted.url}; delete the file to download it again"
        )


def _size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


@contextlib.contextmanager
def _download_lock(lock: Path, url: str) -> Iterator[None]:
    """Wait until no other process downloads the same file."""
    with open(lock, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note(f"{url}: another process is downloading it; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
