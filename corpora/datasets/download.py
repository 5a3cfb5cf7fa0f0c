"""Downloads that are verified by checksum and never leave a partial file in place."""

import dataclasses
import hashlib
import http.client
import io
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path

from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.artifacts.lock import locked
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import progress

_CHUNK = 1 << 18
_ARCHIVE_BYTES = 1 << 20  # of an archive beside its file, at most
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
    """Return the path of a file, downloading it the first time; its checksum is always checked."""
    target = folder / wanted.name
    folder.mkdir(parents=True, exist_ok=True)
    if target.exists():  # the folder may be one that cannot be written
        return _checked(target, wanted)
    waiting = f"{wanted.url}: another process is downloading it; waiting"
    with locked(folder / f"{wanted.name}.lock", waiting=waiting):
        if target.exists():  # another process has downloaded it meanwhile
            return _checked(target, wanted)
        content = _retrieve(wanted, target, timeout)
        content = _member(content, wanted) if wanted.zipped else content
        if problem := _problem(content, wanted):
            raise SourceError(
                f"{wanted.url}: {wanted.name}: {problem}; download discarded, try again"
            )
        write_whole(target, lambda new: new.write_bytes(content))
    return target


def _retrieve(wanted: Download, target: Path, timeout: float) -> bytes:
    """Download a file or an archive."""
    url, content = wanted.url, bytearray()
    request = urllib.request.Request(url, headers={"User-Agent": "firth"})
    try:
        with (
            urllib.request.urlopen(request, timeout=timeout) as response,
            progress("download", "bytes") as show,
        ):
            length = response.headers["Content-Length"] or ""
            total = int(length) if length.isdigit() else None
            while chunk := response.read(_CHUNK):
                content += chunk
                _check_size(len(content) - _ARCHIVE_BYTES, wanted)
                show(len(content), total)
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
    if total is not None and len(content) < total:
        raise SourceError(
            f"{url}: the connection broke after {len(content)} bytes; run the same command again"
        )
    return bytes(content)


def _member(archive: bytes, wanted: Download) -> bytes:
    """Unpack the file of an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            _check_size(members.getinfo(wanted.name).file_size, wanted)  # or less can be unpacked
            return members.read(wanted.name)
    # damaged, without the file, cut short, of an unknown compression, or encrypted
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError,
            RuntimeError) as error:  # fmt: skip
        raise SourceError(
            f"{wanted.url}: not a zip archive with a valid file {wanted.name!r} "
            f"({error}); download discarded"
        ) from None


def _check_size(n_bytes: int, wanted: Download) -> None:
    """Raise if a file is larger than announced."""
    if n_bytes > wanted.max_bytes:
        raise SourceError(
            f"{wanted.url}: {wanted.name} is larger than {wanted.max_bytes} bytes; "
            "download discarded"
        )


def _checked(target: Path, wanted: Download) -> Path:
    """Return the path of a file; raise if it is not what was published."""
    if problem := _problem(target.read_bytes(), wanted):
        raise SourceError(
            f"{target}: {problem}, which {wanted.url} has; delete the file to download it again"
        )
    return target


def _problem(content: bytes, wanted: Download) -> str | None:
    """Return how the checksum differs from the expected one, if it does."""
    algorithm, _, expected = wanted.checksum.partition(":")
    found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
    if found == expected:
        return None
    return f"the {algorithm.upper()} is {found}, not {expected}"
