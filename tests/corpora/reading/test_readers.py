"""Sources of every kind: files, folders, standard input, compression, encodings, errors."""

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import pickle
import re
import sys
import threading
from pathlib import Path

import pytest
import zstandard

from firth.corpora.commands.build_corpus import command
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.reading.detect import detect
from firth.corpora.reading.readers import read
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import FORMATS, ReadOptions
from tests.faults.fuzz_seeds import SOURCES
from tests.source import ROOT

COMPRESSIONS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = "Eins zwei drei.\nÄpfel, Öl und 東京.\n" * 300
CONLLU_LINE = "1\tHallo\thallo\tINTJ\t_\t_\t0\troot\t_\t_\n"
PAGE = (
    "<mediawiki><page><title>A</title><ns>0</ns><id>1</id>"
    "<revision><text>Hello there.</text></revision></page></mediawiki>"
)
SMALL = {
    "text": ("a.txt", "one two\nthree\n", ["one two\nthree\n"]),
    "jsonl": ("a.jsonl", '{"text": "one"}\n{"text": "zwei ü"}\n', ["one\n", "zwei ü\n"]),
    "csv": ("a.csv", 'id,text\n1,"one, ""two"""\n2,b\n', ['one, "two"\n', "b\n"]),
    "tsv": ("a.tsv", 'id\ttext\n1\tone "two"\n2\tb\n', ['one "two"\n', "b\n"]),
    "conllu": ("a.conllu", CONLLU_LINE, ["Hallo\n"]),
    "vertical": ("a.vert", "<doc>\n<s>\nHallo\n</s>\n</doc>\n", ["Hallo\n"]),
    "mediawiki": ("a.xml", PAGE, ["Hello there.\n"]),
    "tei": (
        "b.xml",
        '<TEI xml:lang="en"><text><body><p>Some\n  text.</p></body></text></TEI>',
        ["Some text.\n"],
    ),
    "wikiextractor": (
        "AA",
        '<doc id="1" url="u" title="A">\nA\n\nText.\n\n</doc>\n',
        ["A\n\nText.\n\n"],
    ),
}


def names_in(text):
    """Return the words of a text as names of formats are written."""
    return re.findall(r"\w+", text.lower().replace("-", ""))


def formats_of_seeds():
    """Return the formats of the small files that tests damage, without those that are refused."""
    for name, content in SOURCES.items():
        with contextlib.suppress(SourceError):
            head = content if isinstance(content, bytes) else content.encode()
            yield detect(head, name, ReadOptions())


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_is_in_every_list_of_formats(format):
    page = (ROOT / "docs" / "corpus.md").read_text("utf-8")
    table = page.partition("| format |")[2].partition("\n\n")[0]
    lists = {
        "the table of docs/corpus.md": names_in(
            " ".join(re.findall(r"^\|([^|]+)", table, re.MULTILINE))
        ),
        "the docstring of corpora/commands/build_corpus.py": names_in(
            command.help.partition("SOURCE is")[2].partition("(plain or")[0]
        ),
    }
    if format != "parquet":  # not text, and of an optional package
        lists["SMALL of tests/corpora/reading/test_readers.py"] = SMALL
        lists["what SOURCES of tests/faults/fuzz_seeds.py is detected as"] = formats_of_seeds()
    missing = [place for place, names in lists.items() if format not in names]
    assert not missing, f"{format} is missing in {', and in '.join(missing)}"


@pytest.mark.slow
@pytest.mark.parametrize("compression", [None, *COMPRESSIONS])
@pytest.mark.parametrize("format", SMALL)
def test_every_format_is_detected_in_every_compression(format, compression, write, read_all):
    name, content, texts = SMALL[format]
    data = content.encode()
    write(name, COMPRESSIONS[compression](data) if compression else data)
    for block_bytes in (1, 16, 1 << 20):
        for given in ({}, {"format": format}):
            assert read_all(name, block_bytes=block_bytes, **given).texts == texts


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", ["news", "news.txt", "news.txt.xz"])
def test_compression_is_detected_by_content_not_by_name(compression, name, write, read_all):
    write(name, COMPRESSIONS[compression](TEXT.encode()))
    assert read_all(name).texts == [TEXT]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_concatenated_members_are_one_text(compression, write, read_all):
    compress = COMPRESSIONS[compression]
    padding = b"\0" * 8 if compression in ("gzip", "xz") else b""
    write("news", b"".join(compress(part) + padding for part in (b"one\n", b"", b"two\n")))
    assert read_all("news").texts == ["one\ntwo\n"]


def test_zstd_without_a_content_size_and_with_skippable_frames_is_read(write, read_all):
    streamed = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(streamed, closefd=False) as writer:
        writer.write(TEXT.encode())
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
    write("news.zst", skippable + streamed.getvalue() + skippable)
    assert read_all("news.zst").texts == [TEXT]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kept", [0.3, 0.9, -1])
def test_the_error_for_a_truncated_file_names_it(compression, kept, write, read_all):
    data = COMPRESSIONS[compression](os.urandom(40000).hex().encode())
    write("news", data[:-1] if kept == -1 else data[: int(kept * len(data))])
    with pytest.raises(SourceError) as caught:
        read_all("news")
    assert str(caught.value) == (
        f"news: the {compression} data is truncated; download the file again"
    )


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_error_for_a_corrupt_file_names_it(compression, write, read_all):
    data = bytearray(COMPRESSIONS[compression](b"".join(b"%d\n" % n**5 for n in range(9999))))
    data[len(data) // 2] ^= 0xFF
    write("news", bytes(data))
    message = rf"^news: the {compression} data is corrupt \(.*\); download the file again$"
    with pytest.raises(SourceError, match=message):
        read_all("news")


def test_replaced_bytes_are_counted(write, read_all):
    write("news.txt", "Öl\n".encode() + b"caf\xe9\n" + b"\xf0\x9f\x98 cut\n" * 2)
    for block_bytes in (1, 1 << 20):
        reading = read_all("news.txt", errors="replace", block_bytes=block_bytes)
        assert reading.texts == ["Öl\ncaf\ufffd\n\ufffd cut\n\ufffd cut\n"]
        assert reading.counts == {"replaced_bytes": 7}


@pytest.mark.parametrize("block_bytes", [1, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    "encoding",
    ["latin-1", "cp1252", "gb18030", "utf-16", "utf-16-le", "utf-32", "utf-8", "utf-8-sig", "U8"],
)
def test_encodings_are_decoded_across_blocks(encoding, block_bytes, write, read_all):
    text = {"latin-1": "Äpfel\r\nÖl §\n", "gb18030": "東京の\r\n本\n"}.get(
        encoding, "Äpfel\r\nÖl €\n"
    )
    write("news.txt", text.encode(encoding))
    reading = read_all("news.txt", encoding=encoding, block_bytes=block_bytes)
    assert reading.texts == [text.replace("\r", "")]


@pytest.mark.parametrize(
    ("content", "encoding", "last"),
    [
        (b"one\r\ntwo\nthree \x81\n", "cp1252", "three \ufffd"),
        (b"word\n" * 20000 + b"nul \0\n", "utf-8", "nul \ufffd"),
    ],
    ids=["cp1252", "nul"],
)
def test_what_is_refused_can_be_replaced_and_is_counted(content, encoding, last, write, read_all):
    write("a.txt", content)
    reading = read_all("a.txt", encoding=encoding, errors="replace")
    assert reading.texts[0].split("\n")[-2:] == [last, ""]
    assert reading.counts == {"replaced_bytes": 1}


def test_the_byte_order_mark_is_not_part_of_the_text(write, read_all):
    for block_bytes in (1, 2, 1 << 20):
        write("a.txt", b"\xef\xbb\xbfone\n")
        assert read_all("a.txt", block_bytes=block_bytes).texts == ["one\n"]
    write("a.txt", b"\xff\xfe" + "one\n".encode("utf-16-le"))
    assert read_all("a.txt", encoding="utf-16-le").texts == ["one\n"]


CONTROL_BYTES = "contains control bytes, so it is not text; exclude it, or pass `encoding`"
NOT_UTF8, MARK = "is not UTF-8; pass", "byte order mark; pass"
TWICE = gzip.compress(gzip.compress(b"x", mtime=0), mtime=0)
REFUSED = {
    "pdf": (b"%PDF-1.4 ...", {}, ": a PDF file, not text; exclude it, or extract its text first"),
    "zip": (b"PK\x03\x04...", {}, ": a ZIP archive or office document, not text; exclude it, or"),
    "tar": (b"x" * 257 + b"ustar", {}, ": a tar archive, not text; exclude it, or extract its"),
    "html": (b"<!DOCTYPE html><p>x", {}, ": unknown markup; extract its text first, or pass `form"),
    "zeros": (b"abc\0\0\0def", {}, f": {CONTROL_BYTES}"),
    "pickle": (b"\x80\x04\x95\x10", {}, f": {CONTROL_BYTES}"),
    "gzip twice": (TWICE, {}, ": compressed twice, not text; exclude it, or extract its text"),
    "gzip and more": (gzip.compress(b"text\n") + b"more", {}, ": the gzip data is corrupt ("),
    "UTF-16": ("text\n".encode("utf-16"), {}, f": starts with a UTF-16 {MARK} `encoding=utf-16`"),
    "UTF-32": ("text\n".encode("utf-32"), {}, f": starts with a UTF-32 {MARK} `encoding=utf-32`"),
    "CRLF": (b"plain\r\n\r\ncaf\xe9", {"block_bytes": 3}, ":3: byte 0xE9 is not UTF-8"),
    "CR": (b"plain\r\rcaf\xe9", {"block_bytes": 3}, ":3: byte 0xE9 is not UTF-8"),
    "latin-1": ("café".encode("latin-1"), {}, f":1: byte 0xE9 {NOT_UTF8} `encoding=latin-1`"),
    "windows-1252": ("a “café” – or so".encode("cp1252"), {},
        f":1: byte 0x93 {NOT_UTF8} `encoding=windows-1252`"),
    "gb18030": ("海内存知己".encode("gb18030"), {},
        f":1: byte 0xBA {NOT_UTF8} `encoding=gb18030` or `encoding=koi8-r`"),
    "cut": ("größer, grö".encode()[:-1], {}, f":1: byte 0xC3 {NOT_UTF8} `errors=replace`"),
    "cut UTF-16": ("日本".encode("utf-16-le")[:-1], {"encoding": "utf-16-le"},
        ":1: byte 0x2C is not utf-16-le; pass another"),
    "punycode": ("one two. Three\n", {"encoding": "punycode"},
        ":1: byte 0x20 is not punycode;" if sys.version_info >= (3, 13) else ": not punycode ("),
    "far": (b"plain\n" * 4811 + b"caf\xe9 noir\nmore\n", {}, f":4812: byte 0xE9 {NOT_UTF8} `e"),
    "in blocks": (b"plain\n" * 4811 + b"caf\xe9", {"documents": "block", "block_bytes": 64},
        f":4812: byte 0xE9 {NOT_UTF8} `encoding=latin-1`"),
    "in lines": (b"plain\n" * 4811 + b"caf\xe9", {"documents": "line", "block_bytes": 64},
        f":4812: byte 0xE9 {NOT_UTF8} `encoding=latin-1`"),
    "cp1252": (b"one\r\ntwo\nthree \x81\n", {"encoding": "cp1252", "block_bytes": 1},
        ":3: byte 0x81 is not cp1252; pass another `encoding`, or `errors=replace`"),
    "nul": (b"word\n" * 20000 + b"nul \0\n", {}, ":20001: contains a NUL byte; pass `err"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_as_text_is_refused(content, options, message, write, read_all):
    write("folder/b.txt", "")
    write("folder/x", content)
    with pytest.raises(SourceError) as caught:
        read_all("folder", **options)
    assert str(caught.value).startswith(f"folder/x{message}")
    assert "\n" not in str(caught.value)


def test_folders_are_read_in_the_order_of_their_paths(write, read_all):
    for name in ("f/b.txt", "f/a/z.txt", "f/a.txt", "f/B/c.txt", "f/.hidden", "f/.git/x.txt"):
        write(name, name + "\n")
    write("f/empty.txt", "")
    reading = read_all(["f/b.txt", "f"])
    expected = ["f/b.txt", "f/B/c.txt", "f/a/z.txt", "f/a.txt", "f/b.txt"]
    assert [document.source for document in reading.documents] == expected
    assert reading.texts == [name + "\n" for name in expected]
    assert len(reading.digests) == len(source_files(["f/b.txt", "f"])) == 6


def test_a_folder_may_mix_formats(write, read_all):
    for name, content, _ in SMALL.values():
        write(f"f/{name}", content)
    texts = [text for name in sorted(SMALL, key=lambda f: SMALL[f][0]) for text in SMALL[name][2]]
    assert read_all("f").texts == texts


def test_symlink_cycles_are_not_followed(write, tmp_path, read_all):
    write("f/sub/a.txt", "one\n")
    (tmp_path / "f/sub/up").symlink_to(tmp_path / "f")
    assert read_all("f").texts == ["one\n"]


HIDDEN = "the folder contains no files (hidden files are skipped); pass one that contains"
NO_TEXT = {
    "no.txt": ": no such file or folder; check the path",
    "empty.txt": ": the source is empty; pass one that contains text",
    "empty.gz": ": the source is empty; pass one that contains text",
    "folder": ": the folder contains only empty files; pass one that contains text",
    "none": f": {HIDDEN}",
    "hidden": f": {HIDDEN}",
    "links": "/self: cannot be read (Too many levels",
    "a.json": ": one JSON object over several lines",
}


@pytest.mark.parametrize("source", NO_TEXT)
def test_missing_empty_and_odd_sources_are_refused(source, write, read_all, tmp_path):
    for name in ("empty.txt", "folder/empty.txt"):
        write(name, b"")
    for name in ("hidden/.a.txt", "links/a.txt"):
        write(name, b"x")
    write("empty.gz", gzip.compress(b""))
    write("a.json", '{\n "text": "one"\n}\n')
    (tmp_path / "none").mkdir()
    (tmp_path / "links" / "self").symlink_to("self")
    with pytest.raises(SourceError, match=re.escape(f"{source}{NO_TEXT[source]}")):
        read_all(source)


def test_no_source_is_refused(read_all):
    with pytest.raises(SourceError, match=r"^no source given; pass files, folders or - for"):
        read_all([])


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(write, read_all, tmp_path):
    write("a.txt", "text\n")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(SourceError, match=r"^a\.txt: cannot be read \(Permission denied\)$"):
        read_all("a.txt")


def _set_stdin(monkeypatch, data):
    """Feed bytes to standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def test_standard_input_is_a_source(monkeypatch, read_all):
    for data in (TEXT.encode(), lzma.compress(TEXT.encode())):
        _set_stdin(monkeypatch, data)
        reading = read_all("-", block_bytes=100)
        assert reading.texts == [TEXT]
        assert reading.documents[0].source == "<stdin>"
        assert reading.consumed == len(data)
        assert reading.digests == [hashlib.sha256(data).hexdigest()]


def test_the_format_of_standard_input_is_detected_by_content_or_field(monkeypatch, read_all):
    for data in (b'{"body": "one"}\n', b"id,body\n1,one\n", b"id\tbody\n1\tone\n"):
        _set_stdin(monkeypatch, data)
        assert read_all("-", field="body").texts == ["one\n"]


def test_standard_input_is_named_once_and_open(monkeypatch, read_all):
    with pytest.raises(SourceError, match=r"^<stdin>: named 2 times; it can be read only once$"):
        read_all(["-", "-"])
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SourceError, match=r"^<stdin>: standard input is closed; pipe text into it"):
        read_all("-")


def test_a_corpus_inside_the_folder_is_not_a_source(write, tmp_path):
    names = ["a.txt", "out/manifest.json", "out.partial/ids.npy", "out.replaced/x", "outer/b"]
    for name in [*names, "out.partial.lock", "other.partial.lock"]:
        write(f"folder/{name}", "one\n")
    found = source_files(["folder"], exclude=Path("folder/out"))
    assert [file.name for file in found] == ["folder/a.txt", "folder/outer/b"]
    assert len(source_files(["folder"])) == 5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_a_source(tmp_path, read_all):
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(TEXT.encode(),))
    thread.start()
    assert read_all(tmp_path / "pipe").texts == [TEXT]
    thread.join()
    (file,) = source_files([tmp_path / "pipe"])
    assert (file.size, file.mtime_ns) == (None, None)


def test_files_are_listed_with_size_time_and_digest(write, tmp_path, read_all):
    write("a.txt", "one\n")
    write("b.txt.gz", gzip.compress(b"two\n"))
    files = source_files(["a.txt", "b.txt.gz"])
    assert [file.name for file in files] == ["a.txt", "b.txt.gz"]
    assert [file.size for file in files] == [(tmp_path / f.name).stat().st_size for f in files]
    assert files[0].mtime_ns == (tmp_path / "a.txt").stat().st_mtime_ns
    reading = read_all(["a.txt", "b.txt.gz"])
    raw = [(tmp_path / file.name).read_bytes() for file in files]
    assert reading.digests == [hashlib.sha256(data).hexdigest() for data in raw]
    assert reading.consumed == sum(map(len, raw))


@pytest.mark.parametrize("format", SMALL)
def test_digest_and_progress_cover_all_bytes_of_any_format(format, write, read_all):
    name, content, _ = SMALL[format]
    data = gzip.compress(content.encode() + b"\n\n")
    write(name, data)
    reading = read_all(name, block_bytes=8)
    assert reading.digests == [hashlib.sha256(data).hexdigest()]
    assert reading.consumed == len(data)


@pytest.mark.parametrize("format", SMALL)
def test_raw_blocks_can_be_pickled(format, write):
    name, content, _ = SMALL[format]
    write(name, content)
    for raw in read([name], ReadOptions()):
        assert pickle.loads(pickle.dumps(raw)).parse().text == raw.parse().text  # noqa: S301


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("wikiextractor", {"documents": "line"}, "`documents=line` is for plain text, not for wi"),
        ("conllu", {"wrapped": True}, "`wrapped=True` is for plain text and records, not for co"),
        ("text", {"field": "x"}, "text has no field 'x'; drop `field`, or pass `format`"),
        ("mediawiki", {"field": "x"}, "mediawiki has no field 'x'; drop `field`, or pass `format`"),
        ("text", {"keep": ("x",)}, "plain text has no field 'x' to keep; drop `keep`, or pass `f"),
        ("wikiextractor", {"keep": ("x",)}, "no field 'x' to keep; its fields are id, url, title"),
    ],
)
def test_options_that_would_be_ignored_are_refused(format, options, message, write, read_all):
    name, content, _ = SMALL[format]
    write(name, content)
    with pytest.raises(SourceError) as caught:
        read_all(name, **options)
    assert str(caught.value).startswith(f"{name}: {message}")


def test_options_are_checked():
    assert ReadOptions(keep=("date,author", " date", "")).keep == ("date", "author")
    for options, message in [
        ({"encoding": "klingon"}, r"encoding must be a Python encoding name, .* got 'klingon'$"),
        ({"encoding": "rot13"}, r"encoding must be a Python encoding name, .* got 'rot13'$"),
        ({"wrapped": True, "documents": "line"}, r"wrapped joins lines, .*, got 'line'$"),
        ({"format": "docx"}, r"format must be one of auto, text, "),
    ]:
        with pytest.raises(SettingError, match=rf"^ReadOptions\.{message}"):
            ReadOptions(**options)


@pytest.mark.parametrize(
    ("names", "n_read"),
    [
        (["a.jsonl", "b/c.JSONL.gz", "README.md", "b/LICENSE"], 2),
        (["a.parquet", "readme"], 1),
        (["data/a.parquet", "dataset_infos.json", "dataset_info.json", "README.md"], 1),
        (["a.txt", "README.md"], 2),
        (["a.jsonl", "notes.txt", "README.md"], 3),
        (["README.md", "LICENSE"], 2),
        (["README.jsonl", "a.jsonl"], 2),
        (["a.tab", "b.xml", "README.md"], 2),
        (["a.csv", "readmes.txt"], 2),
    ],
)
def test_what_only_describes_data_is_left_out_of_a_folder(names, n_read, write):
    for name in names:
        write(f"data/{name}", "text")
    assert len(source_files(["data"])) == n_read
    assert len(source_files([f"data/{name}" for name in names])) == len(names)
