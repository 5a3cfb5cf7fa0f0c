"""JSON Lines, CSV, TSV and Parquet: each record is a document."""

import bz2
import datetime
import gzip
import hashlib
import io
import json
import lzma
import math
import sys

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.readable import check_readable
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import ReadOptions

RECORDS = [
    {"id": 1, "body": "one\ntwo", "day": "Mon", "tags": ["a", "ü"]},
    {"id": 2, "body": "", "day": None, "tags": []},
    {"id": 3, "body": "Äpfel 東京\r\nvier\n", "day": "Tue"},
]
TEXTS = ["one\ntwo\n", "", "Äpfel 東京\nvier\n"]


def _error_of(read_all, source, **options):
    """Return the message of the SourceError."""
    with pytest.raises(SourceError) as caught:
        read_all(source, **options)
    return str(caught.value)


@pytest.mark.parametrize("block_bytes", [1, 60, 1 << 20])
@pytest.mark.parametrize("ascii", [True, False])
def test_jsonl_records_are_documents(ascii, block_bytes, write, read_all):
    lines = [json.dumps(record, ensure_ascii=ascii) for record in RECORDS]
    write("a.jsonl", lines[0] + "\n\n" + "\r\n".join(lines[1:]))
    reading = read_all("a.jsonl", field="body", keep=("day,tags", "id"), block_bytes=block_bytes)
    assert reading.texts == TEXTS
    assert [document.position for document in reading.documents] == [1, 3, 4]
    assert [document.fields for document in reading.documents] == [
        {"day": "Mon", "tags": '["a", "ü"]', "id": "1"},
        {"day": "", "tags": "[]", "id": "2"},
        {"day": "Tue", "tags": "", "id": "3"},
    ]
    assert reading.counts == {"missing_fields": 1}


JSONL, CSV, TSV = '{"text": "one", "n": 1}\n' * 2, "id,text\n1,one\n", "id\ttext\n1\tone\n"
QUOTES = "quote cells that contain quotes, and double these quotes"
NO_BODY = ": no field 'body'; the fields are: "
REFUSED = [  # the format, content that is read before, the line of the error and its message
    ("jsonl", JSONL, '{"text": "o\n', ":3: malformed JSON (Unterminated string starting at: line"),
    ("jsonl", JSONL, '["text"]\n', ":3: an array, not an object; each line must be one JSON obj"),
    ("jsonl", JSONL, "7\n", ":3: a number, not an object; each line must be one JSON object"),
    ("jsonl", JSONL, '{"body": "x", "n": 2}\n', ":3: no field 'text'; the fields are: body, n"),
    ("jsonl", JSONL, "{}\n", ":3: no field 'text'; the fields are: (none)"),
    ("jsonl", JSONL, '{"text": ["a", 3]}\n', ":3: field 'text' is an array, not a string; pass an"),
    ("jsonl", JSONL, '{"text": 3}\n', ":3: field 'text' is a number, not a string; pass another"),
    ("jsonl", JSONL, '{"text": true}\n', ":3: field 'text' is a boolean, not a string; pass anot"),
    ("jsonl", JSONL, '{"text": "\\ud800"}\n', ":3: the text contains a lone surrogate; pass `err"),
    ("json", "", '[{"text": "one"}]', ": one JSON array, not one record per line; convert it with"),
    ("csv", CSV, "2\n", ":3: 1 columns, but the header has 2; fix the row"),
    ("csv", CSV, "2,a,b\n", ":3: 3 columns, but the header has 2; fix the row"),
    ("csv", CSV, '2,"a"b\n', f":3: malformed CSV (',' expected after '\"'); {QUOTES}"),
    ("csv", CSV, '2,"never\nends\n', f":3: malformed CSV (unexpected end of data); {QUOTES}"),
    ("csv", CSV, "2,caf\xe9\n", ":3: byte 0xE9 is not UTF-8; pass `encoding=latin-1`"),
    ("tsv", TSV, "2\n", ":3: 1 columns, but the header has 2; fix the row"),
]
FIELDS = [  # the format, content, options, and the message
    ("csv", CSV, {"field": "body"}, f"{NO_BODY}id, text"),
    ("csv", CSV, {"keep": ("body",)}, f"{NO_BODY}id, text"),
    ("tsv", TSV, {"field": "body"}, f"{NO_BODY}id, text"),
    ("tsv", TSV, {"keep": ("body",)}, f"{NO_BODY}id, text"),
    ("jsonl", JSONL, {"keep": ("body",)}, f"{NO_BODY}text, n"),
    ("parquet", None, {"field": "body"}, f"{NO_BODY}text, n"),
    ("parquet", None, {"field": "n"}, ": field 'n' has type int64, not string; pass another `fie"),
    ("parquet", "PAR1 cut", {}, ": corrupt Parquet ("),
    ("txt", "text\n", {"format": "parquet"}, ": not a Parquet file; drop `format` to detect its"),
]


@pytest.mark.parametrize(("format", "before", "bad", "message"), REFUSED)
def test_bad_records_are_refused_with_file_and_line(format, before, bad, message, write, read_all):
    write(f"a.{format}", (before + bad).encode("latin-1"))
    for block_bytes in (1, 1 << 20):
        found = _error_of(read_all, f"a.{format}", block_bytes=block_bytes)
        assert found.startswith(f"a.{format}{message}")


@pytest.mark.parametrize(("format", "content", "options", "message"), FIELDS)
def test_fields_and_files_that_do_not_fit_are_refused(
    format, content, options, message, write, write_parquet, read_all
):
    if content is None:
        write_parquet("a.parquet", {"text": ["one", "two"], "n": [1, 2]})
    else:
        write(f"a.{format}", content)
    assert _error_of(read_all, f"a.{format}", **options).startswith(f"a.{format}{message}")


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        ("a.csv", "text,id,id\none,1,2\n", "1"),
        ("a.tsv", "text\tid\tid\none\t1\t2\n", "1"),
        ("a.vert", '<doc id="1" id="2">\n<s>\none\n</s>\n</doc>\n', "1"),
        ("a", '<doc id="1" url="u" id="2">\none\n</doc>\n', "1"),
        ("a.jsonl", '{"text": "one", "id": 1, "id": 2}\n', "2"),  # as parsers of JSON have it
    ],
)
def test_of_a_field_that_occurs_twice_the_first_value_is_kept(
    name, content, value, write, read_all
):
    write(name, content)
    (document,) = read_all(name, keep=("id",)).documents
    assert (document.text, document.fields) == ("one\n", {"id": value})


def test_numbers_and_dates_of_parquet_are_kept_as_those_of_tables(
    tmp_path, write_parquet, read_all
):
    days = [datetime.datetime(1850, 3, 1), None]
    columns = {"text": ["one", "two"], "year": [1850.0, float("nan")], "day": days}
    write_parquet("a.parquet", columns)
    found = read_all(tmp_path / "a.parquet", keep=("year", "day")).documents
    assert [each.fields for each in found] == [
        {"year": "1850", "day": "1850-03-01"},
        {"year": "", "day": ""},
    ]


def test_of_a_column_of_parquet_that_occurs_twice_the_first_is_kept(tmp_path, read_all):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table([["one"], ["1"], ["2"]], names=["text", "n", "n"])
    parquet.write_table(table, tmp_path / "a.parquet")
    (document,) = read_all(tmp_path / "a.parquet", keep=("n",)).documents
    assert (document.text, document.fields) == ("one\n", {"n": "1"})


def test_lone_surrogates_can_be_replaced(write, read_all):
    write("a.jsonl", '{"text": "a\\ud800b \\ud83d\\ude00", "k": "\\udc00"}\n')
    reading = read_all("a.jsonl", errors="replace", keep=("k",))
    assert reading.texts == ["a\ufffdb 😀\n"]
    assert reading.documents[0].fields == {"k": "\ufffd"}
    assert reading.counts == {"replaced_characters": 1}


def test_wrapped_values_are_joined_into_paragraphs(write, read_all):
    write("a.jsonl", json.dumps({"text": "\none\r\ntwo\n \n\nthree"}))
    assert read_all("a.jsonl", wrapped=True).texts == ["one two\nthree\n"]


def test_records_of_hard_wrapped_text_are_detected(write, read_all):
    line = "some words of a letter that was broken into lines of about sixty"
    text = f"{line}\n" * 9
    joined = " ".join([line] * 9)
    write("a.jsonl", f"{json.dumps({'text': text})}\n" * 2)
    write("a.csv", f'text,n\n"{text}",1\n"{text}",2\n')
    for name in ("a.jsonl", "a.csv"):
        for block_bytes in (len(text), 1 << 20):
            reading = read_all(name, block_bytes=block_bytes)
            assert [found.strip() for found in reading.texts] == [joined, joined]
            assert reading.files[0]["wrapped"] is True
        assert read_all(name, wrapped=False).texts == [text, text]


def test_a_record_without_a_text_is_an_empty_document(write, write_parquet, read_all):
    write("a.jsonl", '{"text": "one"}\n{"text": null}\n{"text": "two"}\n')
    write_parquet("a.parquet", {"text": ["one", None, "two"]})
    for name in ("a.jsonl", "a.parquet"):
        reading = read_all(name)
        assert (reading.texts, reading.counts) == (["one\n", "", "two\n"], {"missing_texts": 1})


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_an_array_of_strings_is_a_sentence_of_tokens(write, read_all, block_bytes):
    write("a.jsonl", '{"text": ["New York", "is\\n"]}\n{"text": []}\n{"text": null}\n')
    reading = read_all("a.jsonl", block_bytes=block_bytes)
    assert reading.texts == ["New York\x1fis \n", "\n", ""]


def test_text_that_starts_with_a_brace_is_not_json(write, read_all):
    write("a.txt", "{braces} are fine\n")
    assert read_all("a.txt").texts == ["{braces} are fine\n"]


@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 20])
@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_csv_rows_are_documents(delimiter, block_bytes, write, read_all):
    rows = [
        ["id", "body", "day"],
        ["1", '"one, ""two""; |\t\n\nthree"', "Mon"],
        ["2", '5" pipe', ""],
        ["3", "Ä", '"T,ue"'],
    ]
    write("a.csv", "\r\n".join(delimiter.join(row) for row in rows) + "\r\n\r\n")
    reading = read_all("a.csv", field="body", keep=("day",), block_bytes=block_bytes)
    assert reading.texts == ['one, "two"; |\t\n\nthree\n', '5" pipe\n', "Ä\n"]
    assert [document.position for document in reading.documents] == [2, 5, 6]
    assert [document.fields["day"] for document in reading.documents] == ["Mon", "", "T,ue"]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_invalid_bytes_in_csv_can_be_replaced_and_are_counted(block_bytes, write, read_all):
    write("a.csv", b"id,text\n1,one\n2,caf\xe9\n")
    reading = read_all("a.csv", errors="replace", block_bytes=block_bytes)
    assert reading.texts == ["one\n", "caf\ufffd\n"]
    assert reading.counts == {"replaced_bytes": 1}


def test_csv_cells_may_be_huge(write, read_all):
    write("a.csv", "text\n" + "word " * 100_000 + "\n")
    assert len(read_all("a.csv").texts[0]) == 500_001


@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 20])
def test_tsv_rows_are_documents_and_inner_quotes_are_text(block_bytes, write, read_all):
    write("a.tsv", 'id\tbody\tday\n1\tsay "hi"\tMon\n\n2\t"all ""of"" it"\t\n3\t"a" or "b"\tTue')
    reading = read_all("a.tsv", field="body", keep=("day",), block_bytes=block_bytes)
    assert reading.texts == ['say "hi"\n', 'all "of" it\n', '"a" or "b"\n']
    assert [document.position for document in reading.documents] == [2, 4, 5]
    assert [document.fields["day"] for document in reading.documents] == ["Mon", "", "Tue"]


@pytest.fixture
def write_parquet(tmp_path, monkeypatch):
    """Write columns as a Parquet file."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)

    def write_columns(name, columns):
        parquet.write_table(pa.table(columns), name)

    return write_columns


@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 20])
def test_parquet_rows_are_documents(block_bytes, write_parquet, read_all):
    import pyarrow as pa

    texts = ["one\ntwo", "", "Äpfel 東京"]
    days = [datetime.date(2015, 1, 2), None, datetime.date(2016, 1, 2)]
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        write_parquet("data", {"n": [1, 2, 3], "body": pa.array(texts, kind), "day": days})
        reading = read_all("data", field="body", keep=("day", "n"), block_bytes=block_bytes)
        assert reading.texts == ["one\ntwo\n", "", "Äpfel 東京\n"]
        assert [document.position for document in reading.documents] == [1, 2, 3]
        assert [document.fields["day"] for document in reading.documents] == [
            "2015-01-02",
            "",
            "2016-01-02",
        ]
        assert len(reading.digests) == 1


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_parquet_is_read_from_a_copy(compress, write_parquet, write, read_all, tmp_path):
    write_parquet("plain", {"text": ["one", "two"]})
    packed = compress((tmp_path / "plain").read_bytes())
    write("packed", packed)
    reading = read_all("packed")
    assert reading.texts == ["one\n", "two\n"]
    assert reading.digests == [hashlib.sha256(packed).hexdigest()]
    assert reading.consumed == len(packed)


@pytest.mark.parametrize("whole", [False, True])
def test_only_plain_parquet_is_checked_before_it_is_read(whole, write_parquet, write, tmp_path):
    write_parquet("a.parquet", {"text": ["one", "two"]})
    cut = (tmp_path / "a.parquet").read_bytes()[:-9]
    write("cut.parquet", cut)
    write("cut.parquet.gz", gzip.compress(cut))  # all of it would have to be copied
    files = source_files(["a.parquet", "cut.parquet", "cut.parquet.gz"])
    options = ReadOptions(skip_unreadable=True)
    found = check_readable(files, options, most_bytes=math.inf, whole=whole)
    expected = ["cut.parquet", "cut.parquet.gz"] if whole else ["cut.parquet"]
    assert [file.name for file in found] == expected


def test_parquet_is_read_from_standard_input(write_parquet, read_all, tmp_path, monkeypatch):
    write_parquet("plain", {"text": ["one", "two"]})
    data = io.BytesIO((tmp_path / "plain").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data, encoding="utf-8"))
    assert read_all("-", format="parquet").texts == ["one\n", "two\n"]


def test_the_error_without_pyarrow_names_the_extra(write, read_all, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write("a.parquet", b"PAR1 and so on")
    assert _error_of(read_all, "a.parquet") == (
        "a.parquet: reading Parquet needs pyarrow; pip install 'firth[parquet]'"
    )


@pytest.mark.parametrize("before", ["", '{"text": "x"}\n'])
def test_json_nested_too_deeply_is_refused_with_its_line(before, tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text(before + '{"text": "a", "b": ' + "[" * 500_000 + "]" * 500_000 + "}\n")
    with pytest.raises(SourceError) as refusal:
        build_corpus(path, tmp_path / "out")
    line = 1 + before.count("\n")
    assert str(refusal.value) == f"{path}:{line}: malformed JSON (nested too deeply); fix the line"


QUOTED = 'text\tauthor\n"line one,\nline two"\tA\n"a ""b"""\tB\n'


@pytest.mark.parametrize("content", [QUOTED, 'text\n"line one,\nline two"\n"a ""b"""\n'])
def test_quoted_cells_of_tsv_may_have_lines(content, write, read_all):
    write("a.tsv", content)
    assert read_all("a.tsv").texts == ["line one,\nline two\n", 'a "b"\n']


def test_a_quoted_cell_far_from_the_start_of_tsv_names_the_format(write, read_all):
    write("a.tsv", "text\tn\n" + "some words here\t1\n" * 5000 + '1\t"line\ntwo"\n')
    with pytest.raises(SourceError, match="pass `format=csv` if a quoted cell goes on"):
        read_all("a.tsv")


def test_unpaired_quotes_of_tsv_are_text(write, read_all):
    write("a.tsv", 'text\n"Hello,\nhe said. "Yes" was it.\n"\n')
    assert len(read_all("a.tsv").texts) == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", '{"text": "%s"}\n'), ("a.csv", "text\n%s\n"), ("a.tsv", "text\n%s\n"),
     ("a.txt", "%s\n")],
)  # fmt: skip
def test_entities_are_counted_or_replaced(name, content, write, read_all):
    text = "AT&T &amp; Jerry &lt;3 it&#39;s &#x1F600; a&b; R&D &#10;x"
    write(name, content % text)
    kept, replaced = read_all(name), read_all(name, unescape=True)
    assert (kept.texts, kept.counts) == ([text + "\n"], {"entities": 5})
    assert replaced.texts == ["AT&T & Jerry <3 it's \U0001f600 a&b; R&D  x\n"]
    assert replaced.counts == {"unescaped": 5}


def test_files_beside_parquet_are_not_text(write, read_all):
    for name in ("_SUCCESS", "_metadata", "_delta_log/0.json", "_started_1"):
        write(f"data/{name}", "x")
    write("data/_notes.txt", "Some text.\n")
    assert read_all("data").texts == ["Some text.\n"]
