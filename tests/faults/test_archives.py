"""Archives and downloads: nothing leaves its folder, and what was fetched is checked."""

import hashlib
import io
import urllib.request
import zipfile

import pytest

from corpora.common.errors import SourceError
from corpora.datasets import named
from corpora.datasets.download import Download, fetch
from tests.faults.test_code_in_files import imports_in

URL = "https://publisher.invalid/text.zip"
MD5 = hashlib.md5(b"words", usedforsecurity=False).hexdigest()


def serve(monkeypatch, content):
    """Let the publisher's address give some bytes."""

    class Answer(io.BytesIO):
        status = 200
        headers = dict.fromkeys(("Content-Range", "ETag", "Last-Modified"))

    Answer.headers["Content-Length"] = str(len(content))
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Answer(content))


def zipped(members):
    """An archive of members by name."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize("evil", ["../text", "/tmp/text", "a/../../text", "C:\\text"])
def test_of_an_archive_nothing_but_the_wanted_file_is_unpacked(monkeypatch, tmp_path, evil):
    serve(monkeypatch, zipped({evil: b"evil", "text": b"words"}))
    wanted = Download(url=URL, member="text", max_bytes=100, md5=MD5)
    path = fetch(wanted, tmp_path / "cache")
    assert path.read_bytes() == b"words"
    assert [each.name for each in tmp_path.iterdir()] == ["cache"]
    assert sorted(each.name for each in path.parent.iterdir()) == ["text", "text.lock"]


def test_a_bomb_is_given_up_where_it_grows_too_large(monkeypatch, tmp_path):
    serve(monkeypatch, zipped({"text": bytes(1 << 24)}))
    with pytest.raises(SourceError, match="is larger than 1000000 bytes; download discarded"):
        fetch(Download(url=URL, member="text", max_bytes=1_000_000, md5=MD5), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["text.lock"]


def test_other_content_than_the_publishers_checksum_says_is_not_taken(monkeypatch, tmp_path):
    wanted = Download(url=URL, member="text", max_bytes=100, md5=MD5)
    serve(monkeypatch, zipped({"text": b"w0rds"}))
    with pytest.raises(SourceError, match="download discarded"):
        fetch(wanted, tmp_path)
    assert not (tmp_path / "text").exists()
    serve(monkeypatch, zipped({"text": b"words"}))
    assert fetch(wanted, tmp_path).read_bytes() == b"words"


def test_no_download_of_the_program_fills_a_disk():
    offered = [value for value in vars(named).values() if isinstance(value, Download)]
    assert offered
    assert [each.url for each in offered if not 0 < each.max_bytes <= 1 << 30] == []


def modules_of(root, names):
    """Files of the program that import one of some modules."""
    return {
        place.partition(":")[0]
        for name, place in imports_in(root)
        if name in names or name.partition(".")[0] in names
    }


def test_one_file_talks_to_the_network(root):
    network = {"urllib.request", "requests", "httpx", "aiohttp", "ftplib", "http.client"}
    assert modules_of(root, network) == {"corpora/datasets/download.py"}


def test_no_archive_is_unpacked_as_a_whole(root):
    assert modules_of(root, {"tarfile"}) == set()
    for file in sorted(modules_of(root, {"zipfile"})):
        assert ".extract" not in (root / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_no_source_and_is_left_as_it_is(warm, place, kind):
    path = place / f"text.{kind}"
    if kind == "zip":
        path.write_bytes(zipped({"../text": b"words"}))
    else:
        import tarfile

        with tarfile.open(path, "w") as archive:
            about = tarfile.TarInfo("../text")
            about.size = 5
            archive.addfile(about, io.BytesIO(b"words"))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
    ended = warm.run(["build-corpus", path, "--out", place / "corpus"], place)
    assert ended.status == 1
    assert ended.said.rstrip("\n").splitlines()[-1].startswith(f"Error: {path}")
    assert "Traceback" not in ended.said
    assert not (place.parent / "text").exists()
    assert not (place / "corpus").exists()
