"""Downloads that are verified by checksum and never leave a partial file in place."""

import contextlib
import dataclasses
import fcntl
import hashlib
import http.client
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note, progress

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without data


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

    A file that exists is checked against its checksum at each call.
    """
    target = folder / wanted.name
    folder.mkdir(parents=True, exist_ok=True)
    with _download_lock(folder / f"{wanted.name}.lock", wanted.url):
        if target.exists():
            _check_existing(wanted, target)
            return target
        with tempfile.TemporaryFile(dir=folder) as download:
            _retrieve(wanted.url, download, target, timeout)
            _accept(wanted, download, target)
    return target


def _retrieve(url: str, download: IO[bytes], target: Path, timeout: float) -> None:
    """Download into an open file."""
    request = urllib.request.Request(url, headers={"User-Agent": "firth"})
    try:
        with (
            urllib.request.urlopen(request, timeout=timeout) as response,
            progress("download", "bytes") as show,
        ):
            length = response.headers["Content-Length"] or ""
            total = int(length) if length.isdigit() else None
            while chunk := response.read(_CHUNK):
                download.write(chunk)
                show(download.tell(), total)
    except urllib.error.HTTPError as error:
        error.close()
        raise SourceError(
            f"{url}: the server answered {error.code} {error.reason}; "
            f"try again later or put the file at {target}"
        ) from None
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        ConnectionError,
        TimeoutError,
    ) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(
            f"{url}: cannot be reached ({reason}); check the connection or put the file at {target}"
        ) from None
    if total is not None and download.tell() < total:
        raise SourceError(
            f"{url}: the connection broke after {download.tell()} bytes; run the same command again"
        )


def _accept(wanted: Download, download: IO[bytes], target: Path) -> None:
    """Put the verified file in place, unpacked if zipped."""
    download.seek(0)
    source = download
    try:
        with contextlib.ExitStack() as stack:
            if wanted.zipped:
                archive = stack.enter_context(zipfile.ZipFile(download))
                source = stack.enter_context(archive.open(wanted.name))
            write_whole(target, lambda new: _copy(source, new, wanted))
    # damaged, without the file, cut short, of an unknown compression, or encrypted
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError,
            RuntimeError) as error:  # fmt: skip
        raise SourceError(
            f"{wanted.url}: not a zip archive with a valid file {wanted.name!r} "
            f"({error}); download discarded"
        ) from None


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
