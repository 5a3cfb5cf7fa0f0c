"""Archives and downloads: no path escapes its folder, and downloads are verified."""

import hashlib
import io
import urllib.request
import zipfile
from dataclasses import replace

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.datasets import named
from firth.corpora.datasets.download import Download, fetch
from tests.faults.test_code_in_files import imports_in

URL = "https://publisher.invalid/text.zip"
MD5 = hashlib.md5(b"words", usedforsecurity=False).hexdigest()
WANTED = Download(url=URL, name="text", max_bytes=100, checksum=f"md5:{MD5}", zipped=True)


def serve(monkeypatch, content):
    """Make every download return some bytes."""

    class Answer(io.BytesIO):
        status = 200
        headers = dict.fromkeys(("Content-Range", "ETag", "Last-Modified"))

    Answer.headers["Content-Length"] = str(len(content))
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Answer(content))


def zipped(members):
    """Return a zip archive of members by name."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize("evil", ["../text", "/tmp/text", "a/../../text", "C:\\text"])
def test_only_the_wanted_member_of_an_archive_is_unpacked(monkeypatch, tmp_path, evil):
    serve(monkeypatch, zipped({evil: b"evil", "text": b"words"}))
    path = fetch(WANTED, tmp_path / "cache")
    assert path.read_bytes() == b"words"
    assert [each.name for each in tmp_path.iterdir()] == ["cache"]
    assert sorted(each.name for each in path.parent.iterdir()) == ["text"]


def test_a_zip_bomb_is_discarded_at_the_size_limit(monkeypatch, tmp_path):
    serve(monkeypatch, zipped({"text": bytes(1 << 24)}))
    with pytest.raises(SourceError, match="is larger than 1000000 bytes; download discarded"):
        fetch(replace(WANTED, max_bytes=1_000_000), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == []


def test_a_download_with_a_wrong_checksum_is_discarded(monkeypatch, tmp_path):
    serve(monkeypatch, zipped({"text": b"w0rds"}))
    with pytest.raises(SourceError, match="download discarded"):
        fetch(WANTED, tmp_path)
    assert not (tmp_path / "text").exists()
    serve(monkeypatch, zipped({"text": b"words"}))
    assert fetch(WANTED, tmp_path).read_bytes() == b"words"


def test_every_download_has_a_size_limit():
    offered = [value for value in vars(named).values() if isinstance(value, Download)]
    assert offered
    assert [each.url for each in offered if not 0 < each.max_bytes <= 1 << 30] == []


def modules_of(root, names):
    """Return the files of the program that import any of some modules."""
    return {
        location.partition(":")[0]
        for name, location in imports_in(root)
        if name in names or name.partition(".")[0] in names
    }


@pytest.mark.slow
def test_only_one_module_uses_the_network(root):
    network = {"urllib.request", "requests", "httpx", "aiohttp", "ftplib", "http.client"}
    assert modules_of(root, network) == {"corpora/datasets/download.py"}


@pytest.mark.slow
def test_no_archive_is_extracted_completely(root):
    assert modules_of(root, {"tarfile"}) == set()
    for file in sorted(modules_of(root, {"zipfile"})):
        assert ".extract" not in (root / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_refused_as_a_source(server, workdir, kind):
    path = workdir / f"text.{kind}"
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
    result = server.run(["build-corpus", path, "--out", workdir / "corpus"], workdir)
    assert result.status == 1
    assert result.stderr.rstrip("\n").splitlines()[-1].startswith(f"Error: {path}")
    assert "Traceback" not in result.stderr
    assert not (workdir.parent / "text").exists()
    assert not (workdir / "corpus").exists()
