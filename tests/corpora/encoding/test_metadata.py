"""A table of metadata is joined with the documents by file, by a field or in order."""

import datetime
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pandas as pd
import pytest

from firth import ReadOptions, build_corpus
from firth.corpora.common.errors import SourceError
from firth.corpora.encoding.metadata import read_table
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.store.fields import kept_field

NAMES = ["b.txt", "a.txt", "sub/St.Paul.txt", "sub/a.txt"]


@pytest.fixture
def folder(tmp_path):
    """Return a folder of four texts, whose order is that of their paths."""
    for name in NAMES:
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the text of {name[:-4]}")
    return tmp_path / "texts"


def table(tmp_path, text, name="table.tsv", encoding="utf-8"):
    (tmp_path / name).write_bytes(text.encode(encoding))
    return tmp_path / name


def build(folder, tmp_path, metadata, **options):
    return build_corpus(folder, tmp_path / "out", metadata=metadata, force=True, **options)


ORDER = ["a.txt", "b.txt", "sub/St.Paul.txt", "sub/a.txt"]


@pytest.mark.parametrize(
    "names",
    [
        ["texts/a.txt", "b.txt", "St.Paul.txt", "sub/a.txt"],
        ["texts\\a.txt", "b", "sub/St.Paul", "sub\\a"],
        ["./texts/a", "b.xml", "St.Paul.xml.gz", "sub/a.xml"],
        ["C:\\x\\texts\\b.txt", "/y/St.Paul.txt"],
    ],
    ids=["paths", "stems", "other endings", "other folders"],
)
def test_rows_are_found_by_the_names_of_files(folder, tmp_path, names):
    order = [ORDER.index(f"{name}.txt") for name in ("a", "b", "sub/St.Paul", "sub/a")]
    if len(names) == 2:
        order = [1, 2]
    lines = [f"{n}\t{name}\t{18 + n}" for n, name in zip(order, names, strict=True)][::-1]
    corpus = build(folder, tmp_path, table(tmp_path, "\n".join(["no\tname\tyear", *lines])))
    expected = [str(18 + n) if n in order else "" for n in range(4)]
    assert kept_field(corpus, "year") == expected
    joined = corpus.manifest["metadata"]
    assert (joined["by"], joined["documents_without"]) == ("name", 4 - len(names))


def test_what_does_not_match_is_counted_and_three_are_named(folder, tmp_path):
    rows = "file,year\nb,1\nc,2\nd,3\ne,4\nf,5\n"
    corpus = build(folder, tmp_path, table(tmp_path, rows, "t.csv"))
    [line] = [line for line in corpus.advice() if "joined" in line]
    names = ", ".join(str(folder / name) for name in (ORDER[0], *ORDER[2:]))
    assert line == (
        f"{tmp_path / 't.csv'}: 1 of 4 documents joined by the column 'file'; 3 documents without "
        f"a row: {names}; 4 rows without a document: c, d, e and 1 more"
    )


def records(tmp_path, *records):
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, records)))
    return tmp_path / "in.jsonl"


def test_rows_are_found_by_a_kept_field_which_they_may_correct(tmp_path):
    source = records(
        tmp_path,
        *({"text": "the sea", "id": i, "year": "1"} for i in (7, "x", "")),
        {"text": "the sea", "id": "y"},
    )
    metadata = table(tmp_path, "year;id\n1902;x\n1901;7\n1903;z\n;\n", "t.csv")
    corpus = build(source, tmp_path, metadata, keep=["id", "year"])
    assert kept_field(corpus, "year") == ["1901", "1902", "1", ""]
    joined = corpus.manifest["metadata"]
    assert (joined["by"], joined["documents_without"]) == ("id", 2)
    assert joined["documents_named"] == ["", "y"]
    assert joined["rows_named"] == ["z"]


def test_rows_are_in_the_order_of_documents_that_blocks_divide(tmp_path):
    texts = [" ".join([f"word{n}"] * 50) for n in range(9)]
    (tmp_path / "in.txt").write_text("\n\n".join(f"{text}\n{text}" for text in texts))
    metadata = table(tmp_path, "\n".join(["\tyear", *(f"{n}\t{n}" for n in range(9))]))
    read = ReadOptions(documents="block", metadata=str(metadata))
    request = make_request([tmp_path / "in.txt"], read=read)
    corpus = encode_corpus(request, tmp_path / "out", block_bytes=300, shard_tokens=150)
    assert len(corpus.shards) > 1
    assert kept_field(corpus, "year") == list(map(str, range(9)))
    for shard in corpus.shards:
        firsts = [corpus.vocabulary[int(shard.ids[at])] for at in shard.documents[:-1]]
        assert firsts == [f"word{year}" for year in shard.field("year")]


def test_a_cluster_joins_the_same_and_a_table_inside_the_folder_is_no_text(folder, tmp_path):
    lines = [f"{name}\t{n}" for n, name in enumerate(NAMES)]
    metadata = table(folder, "\n".join(["file\tyear", *lines]))
    corpus = build(folder, tmp_path, metadata)
    assert corpus.n_documents == 4
    with ThreadPoolExecutor(2) as pool:
        other = build_corpus(folder, tmp_path / "other", metadata=metadata, cluster=pool)
    for each in (corpus, other):
        assert kept_field(each, "year") == ["1", "0", "2", "3"]
    assert other.fingerprint == corpus.fingerprint
    again = build_corpus(folder, tmp_path / "out", metadata=metadata)
    assert again.manifest == corpus.manifest
    metadata.write_text("\n".join(["file\tyear", *lines[:-1], "sub/a.txt\t1999"]))
    changed = build_corpus(folder, tmp_path / "out", metadata=metadata, force=True)
    assert kept_field(changed, "year")[3] == "1999"
    assert changed.fingerprint != corpus.fingerprint


def test_cells_of_data_frames_become_numbers_and_iso_dates(folder, tmp_path):
    dates = pd.to_datetime(["1850-01-02 00:00", "1851-02-03 10:00", None])
    numbers = [1.0, 2.5, float("nan")]
    frame = pd.DataFrame({"file": ["a.txt", "b.txt", "St.Paul"], "n": numbers, "date": dates})
    frame.loc[0, "file"] = "texts/a.txt"
    corpus = build(folder, tmp_path, frame)
    assert kept_field(corpus, "n") == ["1", "2.5", "", ""]
    assert kept_field(corpus, "date") == ["1850-01-02", "1851-02-03T10:00:00", "", ""]


@pytest.mark.parametrize(
    ("text", "name", "encoding"),
    [
        ('file\ttitle\na\t"Ä" b\nb\tc\n', "t.tsv", "utf-8-sig"),
        ('file,title\r\na,"""Ä"" b"\r\nb,c\r\n', "t.csv", "utf-8"),
        ('file;title\na;"""Ä"" b"\nb;c', "t.csv", "utf-8"),
        ('file\ttitle\r\na\t"""Ä"" b"\r\nb\tc\r\n', "t.txt", "utf-16"),
    ],
    ids=["tsv", "csv", "semicolons", "unicode text"],
)
def test_tables_are_read_as_programs_write_them(tmp_path, text, name, encoding):
    found = read_table(table(tmp_path, text, name, encoding))
    assert found.columns == {"file": ["a", "b"], "title": ['"Ä" b', "c"]}


def test_a_sheet_is_read_by_its_package_or_needs_it(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(SourceError, match=r"needs the package openpyxl; pip install 'firth\[xlsx"):
        read_table(path)
    sheet = [("id", "date", None), (7.0, datetime.datetime(1850, 1, 2), None), (None,) * 3]
    book = SimpleNamespace(worksheets=[SimpleNamespace(iter_rows=lambda values_only: iter(sheet))])
    package = SimpleNamespace(load_workbook=lambda file, read_only, data_only: book)
    monkeypatch.setitem(sys.modules, "openpyxl", package)
    assert read_table(path).columns == {"id": ["7"], "date": ["1850-01-02"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\tyear\nx\t1\ny\t2\n", r"'a\.txt', .* its 2 rows do not fit 4 documents in order"),
        ("name\tyear\nb\t1\nb\t2\nSt.Paul\t3", "the column 'name' has b twice; keep one row"),
        ("name\tyear\na\t1\nb\t2", r"'a' in the column 'name' names .*a\.txt and .*a\.txt; write"),
        ("name\tyear\nb\t1\t3\n", r"t\.tsv:2: 3 columns, but the header has 2; fix the row"),
        ("name\tname\nb\t1\n", "has a column 'name' twice; rename it"),
        ("name\ta, b\nb\t1\n", "has a column 'a, b' with a comma or =; rename it"),
        ("name\tyear\n", "has no rows; expected a line of names"),
        ("", "has no rows"),
    ],
    ids=["none", "twice", "ambiguous", "width", "columns", "comma", "header", "empty"],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(folder, tmp_path, text, message):
    with pytest.raises(SourceError, match=message):
        build(folder, tmp_path, table(tmp_path, text, "t.tsv"))
    assert not os.path.exists(tmp_path / "out")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("nowhere.tsv", r"nowhere\.tsv: no such file or directory; correct the path of `metadata`"),
        (7, "<int>: `metadata` is a path or a data frame"),
    ],
    ids=["missing", "number"],
)
def test_what_is_no_table_is_refused(folder, tmp_path, metadata, message):
    with pytest.raises(SourceError, match=message):
        build(folder, tmp_path, metadata)


def test_bytes_of_another_encoding_are_named(tmp_path):
    with pytest.raises(SourceError, match=r"t\.csv:2: byte 0xC4 is not UTF-8; save it as UTF-8"):
        read_table(table(tmp_path, "a;b\nÄ;1", "t.csv", "latin-1"))


def test_values_that_no_document_has_are_refused(tmp_path):
    source = records(tmp_path, {"text": "a", "id": "1"}, {"text": "b", "id": "2"})
    metadata = table(tmp_path, "id\tyear\n8\t1\n9\t2\n7\t3\n")
    with pytest.raises(SourceError, match=r"or values of a kept field, and its 3 rows do not fit"):
        build(source, tmp_path, metadata, keep=["id"])
