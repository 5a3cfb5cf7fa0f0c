"""Files at URLs, such as ``s3://bucket/news/*.txt.gz``, through fsspec."""

import contextlib
import datetime
import email.utils
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.errors import SourceError, one_line

_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_WEB = ("http://", "https://")  # there * and ? are characters of an address
_READ_BYTES = 8 << 20  # requested at once


@dataclass(frozen=True)
class RemoteFile:
    """A file at a URL, as its server describes it."""

    url: str
    size: int | None  # bytes; None if the server does not say
    mtime_ns: int | None
    etag: str | None  # changes with the contents


def is_url(source: object) -> bool:
    """Return whether a source is a URL."""
    return bool(_URL.match(str(source)))


def remote_files(url: str) -> list[RemoteFile]:
    """List the files at a URL, of a pattern with ``*``, or below a folder, sorted by path."""
    with _remote_errors(url):
        system, path = _open_system(url)
        if not url.startswith(_WEB) and re.search(r"[*?\[]", path):
            found = system.glob(path, detail=True)
        elif not url.startswith(_WEB) and system.isdir(path):
            found = system.find(path, detail=True)
        else:
            found = {path: system.info(path)}
        files = [
            _describe(system, each, about)
            for each, about in sorted(found.items())
            # as in a folder of this machine, hidden ones are skipped
            if about["type"] == "file" and each.count("/.") == path.count("/.")
        ]
    if not files:
        raise SourceError(f"{url}: no such files; check the URL")
    return files


@contextlib.contextmanager
def open_remote(url: str) -> Iterator[Any]:
    """Open a file at a URL for reading from start to end."""
    with _remote_errors(url):
        system, path = _open_system(url)
        with system.open(path, "rb", block_size=_READ_BYTES) as file:
            yield file


def _open_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    from fsspec.core import url_to_fs

    # a listing of an earlier call may be out of date
    system, path = url_to_fs(url, use_listings_cache=False)
    return system, path


def _describe(system: Any, path: str, about: dict[str, Any]) -> RemoteFile:
    """Take size, time and tag from what a file system says about a file."""
    times = (about.get(name) for name in ("LastModified", "Last-Modified", "updated", "mtime"))
    time = next(filter(None, times), None)
    etag = about.get("ETag") or about.get("etag")
    return RemoteFile(system.unstrip_protocol(path), about.get("size"), _nanoseconds(time), etag)


def _nanoseconds(time: Any) -> int | None:
    """Return a time in any form that fsspec uses, in nanoseconds since 1970."""
    if isinstance(time, str):
        is_iso = time[:1].isdigit()  # else Sun, 06 Nov 1994 08:49:37 GMT
        form = datetime.datetime.fromisoformat if is_iso else email.utils.parsedate_to_datetime
        time = form(time)
    if isinstance(time, datetime.datetime):
        time = time.timestamp()
    return None if time is None else int(time * 1_000_000_000)


@contextlib.contextmanager
def _remote_errors(url: str) -> Iterator[None]:
    """Turn errors of fsspec, and of the many libraries that it uses, into a SourceError."""
    try:
        yield
    except SourceError:
        raise
    except FileNotFoundError:
        raise SourceError(f"{url}: no such file; check the URL") from None
    except ImportError as error:
        reason = one_line(error)
        raise SourceError(
            f"{url}: needs another package ({reason}); pip install 'firth[remote]' has those of "
            "s3:// and https://"
        ) from None
    except Exception as error:  # noqa: BLE001 - every protocol has errors of its own
        reason = one_line(error)
        # its own traceback may show the URL
        raise SourceError(f"{url}: cannot be read ({reason})") from None
