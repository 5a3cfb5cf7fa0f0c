"""Downloads from a local server: complete, broken, rejected, unreachable."""

import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.datasets.download import Download, fetch

BODY = bytes(range(256)) * 4_000  # larger than one read
MD5, MD5_OF_X = (hashlib.md5(each).hexdigest() for each in (BODY, b"x"))


def zipped(body: bytes, name: str = "words") -> bytes:
    """An archive of one file, stored as it is, so that sizes are plain."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), body)
    return buffer.getvalue()


def damaged() -> bytes:
    """An archive of one compressed file, whose first block is of a kind that does not exist."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("words"), BODY, zipfile.ZIP_DEFLATED)
    content = bytearray(buffer.getvalue())
    content[30 + len("words")] |= 6  # after the header of the file
    return bytes(content)


class Publisher(ThreadingHTTPServer):
    """A server of one file; its attributes say how it behaves."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = zipped(BODY)
        self.status = 200
        self.break_after: list[int] = []  # bytes sent before each connection breaks
        self.n_requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/words.zip"


class Handler(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        publisher = self.server
        publisher.n_requests += 1
        if publisher.status != 200:
            return self.send_error(publisher.status)
        self.send_response(200)
        self.send_header("Content-Length", str(len(publisher.content)))
        self.end_headers()
        stop = publisher.break_after.pop(0) if publisher.break_after else None
        self.wfile.write(publisher.content[:stop])
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setenv("no_proxy", "*")
    server = Publisher()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def wanted(publisher: Publisher, **about: Any) -> Download:
    usual = {"url": publisher.url, "max_bytes": len(BODY), "checksum": f"md5:{MD5}", "zipped": True}
    return Download(name="words", **usual | about)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refusal(publisher: Publisher, folder: Path, **about: Any) -> str:
    with pytest.raises(SourceError) as refused:
        fetch(wanted(publisher, **about), folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_file_is_downloaded_once_and_checked_each_time(publisher, tmp_path):
    path = fetch(wanted(publisher), tmp_path / "cache")
    again = fetch(wanted(publisher), tmp_path / "cache")

    assert path == again == tmp_path / "cache" / "words"
    assert path.read_bytes() == BODY
    assert publisher.n_requests == 1
    assert names(tmp_path / "cache") == ["words"]
    path.write_bytes(b"x")
    assert refusal(publisher, tmp_path / "cache") == (
        f"{path}: the MD5 is {MD5_OF_X}, not {MD5}, which {publisher.url} has; "
        "delete the file to download it again"
    )


@pytest.mark.parametrize("silent", [False, True])
def test_a_missing_network_is_reported_in_one_line(silent, publisher, tmp_path):
    reason = "timed out" if silent else "[Errno 111] Connection refused"
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/words.zip"
        if not silent:
            server.close()
        with pytest.raises(SourceError) as refused:
            fetch(wanted(publisher, url=url), tmp_path, timeout=0.05)
    assert str(refused.value) == (
        f"{url}: cannot be reached ({reason}); check the connection or put the file at "
        f"{tmp_path / 'words'}"
    )


def test_a_broken_download_leaves_nothing_and_is_repeated(publisher, tmp_path):
    publisher.break_after = [300_000]

    assert refusal(publisher, tmp_path) == (
        f"{publisher.url}: the connection broke after 300000 bytes; run the same command again"
    )
    assert names(tmp_path) == []
    assert fetch(wanted(publisher), tmp_path).read_bytes() == BODY


@pytest.mark.parametrize(
    ("server", "about", "message"),
    [
        (
            {"content": zipped(b"x")},
            {},
            f"words: the MD5 is {MD5_OF_X}, not {MD5}; ",
        ),
        ({"status": 404}, {}, "the server answered 404 Not Found; try again later or put the file"),
        ({}, {"max_bytes": len(BODY) - 1}, f"words is larger than {len(BODY) - 1} bytes; downl"),
    ],
    ids=["checksum", "status", "size"],
)
def test_what_is_not_the_wanted_file_is_discarded(publisher, tmp_path, server, about, message):
    for name, value in server.items():
        setattr(publisher, name, value)
    assert refusal(publisher, tmp_path, **about).startswith(f"{publisher.url}: {message}")
    assert names(tmp_path) == []


def test_a_file_that_is_not_zipped_is_verified_as_it_is(publisher, tmp_path):
    publisher.content = BODY
    sha256 = hashlib.sha256(BODY).hexdigest()
    about = {"checksum": f"sha256:{sha256}", "zipped": False}

    assert fetch(wanted(publisher, **about), tmp_path).read_bytes() == BODY
    assert names(tmp_path) == ["words"]

    publisher.content = b"something else"
    assert refusal(publisher, tmp_path / "again", **about) == (
        f"{publisher.url}: words: the SHA256 is {hashlib.sha256(b'something else').hexdigest()}, "
        f"not {sha256}; download discarded, try again"
    )
    assert names(tmp_path / "again") == []


@pytest.mark.parametrize(
    "content",
    [b"<html>no archive</html>", zipped(BODY, name="../words"), zipped(BODY)[:-99], damaged()],
    ids=["page", "other file", "cut", "damaged"],
)
def test_invalid_archives_are_rejected(publisher, tmp_path, content):
    publisher.content = content

    message = refusal(publisher, tmp_path / "cache")
    assert message.startswith(f"{publisher.url}: not a zip archive with a valid file 'words' (")
    assert names(tmp_path / "cache") == []
    assert names(tmp_path) == ["cache"]


def test_two_processes_download_once(publisher, tmp_path):
    threads = [threading.Thread(target=fetch, args=(wanted(publisher), tmp_path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert publisher.n_requests == 1
    assert (tmp_path / "words").read_bytes() == BODY
