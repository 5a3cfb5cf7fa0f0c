"""Sources at URLs: a server of S3 in this process, and the same server by plain HTTP."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.reading.remote import remote_files
from firth.corpora.reading.sources import source_files
from tests.corpora.small_corpora import arrays

pytestmark = pytest.mark.process

pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")

NEWS = {"news/b.txt.gz": "A dog barked.\n" * 40, "news/a.txt.gz": "The cat sat.\n" * 30}
OTHERS = {"news/.hidden.gz": "no", "notes.txt": "No cat. " * 20, "empty": ""}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve a bucket with compressed and other files; yield the address."""
    import boto3

    patch = pytest.MonkeyPatch()
    running = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    address = "http://{}:{}".format(*running.get_host_and_port())
    patch.setenv("AWS_ENDPOINT_URL", address)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "any")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    store = boto3.client("s3")
    store.create_bucket(Bucket="texts")
    for name, text in (NEWS | OTHERS).items():
        body = gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode()
        store.put_object(Bucket="texts", Key=name, Body=body, ACL="public-read")
    yield address
    running.stop()
    patch.undo()


@pytest.fixture
def local(tmp_path) -> Path:
    """The same compressed files in a folder."""
    for name, text in NEWS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return tmp_path / "news"


def test_files_of_a_bucket_make_the_corpus_of_the_same_local_files(server, local, tmp_path):
    remote = build_corpus("s3://texts/news", tmp_path / "remote")
    here = build_corpus(local, tmp_path / "here")

    for url in ("s3://texts/news/*.gz", "s3://texts/news", "s3://texts/news/"):
        assert [file.url for file in remote_files(url)] == [
            f"s3://texts/{name}" for name in sorted(NEWS)
        ]
    assert arrays(remote) == arrays(here)
    assert remote.fingerprint == here.fingerprint


def test_a_corpus_records_url_size_time_and_tag_of_its_sources(server, tmp_path):
    corpus = build_corpus("s3://texts/notes.txt", tmp_path / "corpus")
    (source,) = json.loads((corpus.path / "manifest.json").read_text())["sources"]

    assert source["name"] == "s3://texts/notes.txt"
    assert source["size"] == len(OTHERS["notes.txt"])
    assert source["mtime_ns"] > 1_600_000_000 * 10**9
    assert len(source["etag"].strip('"')) == 32
    assert len(source["sha256"]) == 64


def test_a_corpus_of_a_url_is_up_to_date_until_the_file_changes(server, tmp_path):
    import boto3

    store = boto3.client("s3")

    def put(text: str) -> None:
        store.put_object(Bucket="texts", Key="changing.txt", Body=text.encode())

    put("The cat sat. " * 9)
    out = tmp_path / "corpus"
    made = build_corpus("s3://texts/changing.txt", out)
    assert build_corpus("s3://texts/changing.txt", out).fingerprint == made.fingerprint
    put("The dog sat. " * 9)
    with pytest.raises(Exception, match="already exists"):
        build_corpus("s3://texts/changing.txt", out)


def test_a_web_address_is_read_as_it_stands(server, tmp_path):
    url = f"{server}/texts/notes.txt"
    (file,) = source_files([url])
    assert (file.url, file.size) == (url, len(OTHERS["notes.txt"]))
    corpus = build_corpus(url, tmp_path / "corpus")
    assert corpus.n_documents == 1
    assert "cat" in corpus.vocabulary.words(0, 3)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://texts/nothing.txt", r"s3://texts/nothing.txt: no such file; check the URL"),
        ("s3://texts/*.pdf", r"s3://texts/\*.pdf: no such files; check the URL"),
        ("s3://texts/empty", r"s3://texts/empty: the source is empty"),
        ("nonsense://a/b", r"nonsense://a/b: cannot be read \(Protocol not known: nonsense\)"),
    ],
)
def test_urls_without_text_are_refused_in_one_line(url, message, server, tmp_path):
    with pytest.raises(SourceError, match=message) as error:
        build_corpus(url, tmp_path / "corpus")
    assert "\n" not in str(error.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    message = (
        r"gs://bucket/a.txt: needs another package \(.*gcsfs.*\); pip install 'firth\[remote\]'"
    )
    with pytest.raises(SourceError, match=message):
        remote_files("gs://bucket/a.txt")


def test_workers_read_urls(server, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    urls: list[Any] = ["s3://texts/news/a.txt.gz", "s3://texts/notes.txt"]
    with ThreadPoolExecutor(1) as executor:
        there = build_corpus(urls, tmp_path / "there", cluster=executor)
    assert arrays(there) == arrays(build_corpus(urls, tmp_path / "here"))
