"""build_corpus: building or opening a corpus in one call."""

import datetime
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

from firth.corpora.common.errors import ArtifactError, FirthError, SourceError
from firth.corpora.encoding.build import build_corpus, open_or_build
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.search import Search
from firth.corpora.text.segment import TextSettings

ONE_THREAD = BuildOptions(threads=1)


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("The cat sat.\n\nThe dog ran.\n", encoding="utf-8")
    return file


def test_an_up_to_date_corpus_is_opened_not_rebuilt(text, tmp_path):
    out = tmp_path / "corpus"
    made = build_corpus(text, out, options=ONE_THREAD)
    before = (out / "manifest.json").stat().st_ino

    assert build_corpus([str(text)], str(out), options=ONE_THREAD).fingerprint == made.fingerprint
    assert (out / "manifest.json").stat().st_ino == before
    build_corpus(text, out, options=ONE_THREAD, force=True)
    assert (out / "manifest.json").stat().st_ino != before


def test_other_settings_replace_an_existing_corpus_only_if_forced(text, tmp_path):
    out = tmp_path / "corpus"
    build_corpus(text, out, options=ONE_THREAD)
    settings = {"read": ReadOptions(documents="block"), "words": TextSettings(keep_case=True)}

    with pytest.raises(ArtifactError):
        build_corpus(text, out, options=ONE_THREAD, **settings)

    corpus = build_corpus(text, out, options=ONE_THREAD, force=True, **settings)
    assert corpus.n_documents == 2
    assert "The" in list(corpus.vocabulary.words(0, len(corpus.vocabulary)))


def test_notes_on_the_corpus_are_printed(text, tmp_path, capsys):
    build_corpus(text, tmp_path / "corpus", options=ONE_THREAD)
    assert "too little text for a held-out slice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (None, "<NoneType>: neither paths nor text; pass strings, lists of tokens, "),
        ({"text": ["a cat"]}, "<dict>: neither paths nor text; "),
        ("the cat sat.", "the cat sat.: no such file or folder; pass text itself in a list"),
        ("x" * 300, "x: cannot be read (File name too long)"),
        (["news.txt", "nwes"], "news.txt: no such file or folder; check the path"),
        (["here.txt", "A sentence."], "'here.txt' is a file, but other strings of the list are"),
        ([["a", "cat"], 3], "<list>:2: of type int; pass strings, "),
        ([Path("here.txt"), "no.txt"], "no.txt: no such file or folder; check the path"),
        ([["a", "cat"], "a dog"], "is an array of tokens in some records and a string in others"),
        ([("a cat", {"text": 1})], "<list>:1: a field has the name 'text'; rename it"),
        (iter([]), "<list_iterator>: the source is empty"),
        ([], "no source given; pass files, folders"),
    ],
    ids=[
        "none", "columns", "text", "long", "mistyped", "both", "number", "path", "mixed",
        "name twice", "nothing", "no source",
    ],
)  # fmt: skip
def test_what_is_neither_paths_nor_text_is_refused(sources, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("here.txt").write_text("a text\n")
    with pytest.raises(SourceError, match=re.escape(message)):
        build_corpus(sources, tmp_path / "corpus")


TEXTS = ["The cat sat.\nIt slept.", "A dog ran, and ran."]
YEARS = ["1999", "2001"]


def records():
    """Yield texts with two fields, as data sets of other programs do."""
    for text, year in zip(TEXTS, YEARS, strict=True):
        yield {"body": text, "year": year, "n": 1}


IN_MEMORY = {
    "list": lambda: TEXTS,
    "tuple": lambda: tuple(TEXTS),
    "iterator": lambda: iter(TEXTS),
    "array": lambda: np.array(TEXTS),
    "series": lambda: pandas.Series(TEXTS),
    "frame": lambda: pandas.DataFrame({"n": [1, 1], "text": TEXTS}),
}
WITH_FIELDS = {
    "frame": lambda: pandas.DataFrame(records(), index=[7, 7]),
    "records": records,
    "pairs": lambda: ((r["body"], {"n": 1, "year": r["year"]}) for r in records()),
}


def arrays(corpus):
    """Return the bytes of all arrays of a corpus."""
    return {path.name: path.read_bytes() for path in corpus.path.rglob("*.npy")}


def fields_of(corpus):
    """Return the kept fields of a corpus, with a value for each document."""
    search, numbers = Search(corpus), range(corpus.n_documents)
    return {name: [search.fields(n)[name] for n in numbers] for name in search.field_names}


@pytest.mark.parametrize("make", IN_MEMORY.values(), ids=IN_MEMORY)
def test_text_in_memory_is_encoded_as_the_same_text_in_a_file(make, tmp_path):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "a.jsonl").write_text(lines)

    corpus = build_corpus(make(), tmp_path / "corpus", options=ONE_THREAD)

    assert arrays(corpus) == arrays(build_corpus(tmp_path / "a.jsonl", options=ONE_THREAD))
    [source] = corpus.manifest["sources"]
    assert (source["name"], corpus.n_documents) == (f"<{type(make()).__name__}>", 2)


@pytest.mark.parametrize("make", WITH_FIELDS.values(), ids=WITH_FIELDS)
def test_named_fields_are_kept_with_each_document(make, tmp_path):
    corpus = build_corpus(make(), tmp_path / "corpus", text="body", keep=["year"])
    assert fields_of(corpus) == {"year": YEARS}


def test_all_fields_of_pairs_are_kept_by_default(tmp_path):
    fields = [{"year": 1999}, {"day": datetime.date(2001, 2, 3), "none": float("nan")}]
    corpus = build_corpus(list(zip(TEXTS, fields, strict=True)), tmp_path / "corpus")
    assert fields_of(corpus) == {"year": ["1999", ""], "day": ["", "2001-02-03"], "none": ["", ""]}


def test_tokens_are_not_divided_any_more(tmp_path):
    tokens = [["New York", "isn't", ":-)\x1f\n(-:"], ["big", "New York"]]
    corpus = build_corpus(tokens, tmp_path / "corpus", options=ONE_THREAD)
    assert sorted(corpus.vocabulary.words(0, 5)) == [":-)  (-:", "big", "isn't", "new york"]
    assert corpus.n_documents == 2
    with pytest.raises(SourceError, match="already tokenized, so `segmenter=characters` does not"):
        build_corpus(tokens, words=TextSettings(segmenter="characters"))


def test_a_missing_text_is_an_empty_document(tmp_path, capsys):
    for missing in (None, float("nan"), pandas.NA):
        corpus = build_corpus([missing, *TEXTS], tmp_path / "corpus", force=True)
        assert corpus.n_documents == 3
    assert "1 records without a text were kept as empty documents" in capsys.readouterr().err


def test_text_in_memory_is_built_once_and_leaves_no_file(fresh_cache):
    first = build_corpus(iter(TEXTS), options=ONE_THREAD)
    before = (first.path / "manifest.json").stat().st_ino

    assert build_corpus(iter(TEXTS), options=ONE_THREAD).path == first.path
    assert (first.path / "manifest.json").stat().st_ino == before
    assert build_corpus(["A cat.", "An owl."], options=ONE_THREAD).path != first.path
    assert open_or_build(iter(TEXTS)).fingerprint == first.fingerprint
    assert [path for path in fresh_cache.iterdir() if path.name.startswith(".text-")] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": TextSettings()}, "`text` must be the name of a field, got TextSettings; "),
        ({"text": "a", "read": ReadOptions(field="b")}, "`text`: also set by `read`; drop one"),
        ({"text": "b"}, "<DataFrame>: no field 'b'; the fields are: text"),
        ({"keep": "year"}, "<DataFrame>: no field 'year'; the fields are: text"),
        ({"read": ReadOptions(documents="line")}, "`documents=line` is for plain text, not for"),
    ],
    ids=["settings", "twice", "text", "keep", "documents"],
)
def test_options_that_do_not_fit_text_in_memory_are_refused(options, message, tmp_path):
    frame = pandas.DataFrame({"text": TEXTS})
    with pytest.raises(FirthError, match=re.escape(message)):
        build_corpus(frame, tmp_path / "corpus", **options)


def test_a_corpus_is_not_built_from_a_corpus(text, tmp_path):
    corpus = build_corpus(text, tmp_path / "corpus", options=ONE_THREAD)
    with pytest.raises(SourceError, match=r"corpus: a corpus already; train on it as it is$"):
        build_corpus(corpus.path, tmp_path / "other")


PDF = b"%PDF-1.4 ..."


@pytest.fixture
def folder(tmp_path):
    """A folder of two texts, an empty file, and files that cannot be read for various reasons."""
    texts = {"a.txt": "The cat sat.\n", "m.txt": "A dog ran.\n" * 9, "empty.txt": ""}
    for name, content in texts.items():
        (tmp_path / "f").mkdir(exist_ok=True)
        (tmp_path / "f" / name).write_text(content)
    (tmp_path / "f/b.pdf").write_bytes(PDF)
    (tmp_path / "f/latin.txt").write_bytes(b"The caf\xe9.\n")
    (tmp_path / "f/late.txt").write_bytes(b"word\n" * 30000 + b"\xe9\n")
    (tmp_path / "f/z.txt.gz").write_bytes(b"\x1f\x8b\x08 not gzip")
    (tmp_path / "f/link").symlink_to(tmp_path / "nothing")
    return tmp_path / "f"


def test_files_that_cannot_be_read_are_listed_together(folder, tmp_path):
    with pytest.raises(SourceError) as caught:
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    message = str(caught.value)
    assert message.startswith("4 of 8 files cannot be read: ")
    assert message.endswith(" (or pass `skip_unreadable=True` to leave these files out)")
    assert "\n" not in message
    names = re.findall(rf"{re.escape(str(folder))}/([a-z.]+)", message)
    assert names == ["b.pdf", "latin.txt", "link", "z.txt.gz"], message
    for name in ("b.pdf", "latin.txt", "link"):
        (folder / name).unlink()
    with pytest.raises(SourceError, match=r"z.txt.gz: .*\(or pass `skip_unreadable=True` to"):
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    (folder / "z.txt.gz").unlink()
    with pytest.raises(SourceError, match=r"/late.txt:30001: byte 0xE9 is not UTF-8; "):
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    assert not (tmp_path / "out").exists()


def test_a_long_list_of_files_is_cut(tmp_path):
    for number in range(13):
        (tmp_path / f"{number:02}.pdf").write_bytes(PDF)
    (tmp_path / "a.txt").write_text("a text\n")
    with pytest.raises(SourceError) as caught:
        build_corpus(tmp_path, tmp_path / "out", options=ONE_THREAD)
    message = str(caught.value)
    assert (message.count("a PDF file"), message.count("; and 3 more (or")) == (10, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_skipped_files_change_nothing_but_the_list_of_sources(folder, tmp_path, threads, capsys):
    options, read = BuildOptions(threads=threads), ReadOptions(skip_unreadable=True)
    corpus = build_corpus(folder, tmp_path / "out", read=read, options=options)
    notes = capsys.readouterr().err
    assert f"{folder}/empty.txt: empty, skipped" in notes
    assert f"5 of 8 files were skipped, since they cannot be read: {folder}/b.pdf: a PDF" in notes

    left = [Path(s["name"]).name for s in corpus.manifest["sources"] if "unreadable" in s]
    assert left == ["b.pdf", "late.txt", "latin.txt", "link", "z.txt.gz"]
    texts = [folder / "a.txt", folder / "m.txt"]
    alone = build_corpus(texts, tmp_path / "alone", options=options)
    assert corpus.manifest["arrays"] == alone.manifest["arrays"]
    assert [list(shard.ids) for shard in corpus.shards] == [list(s.ids) for s in alone.shards]

    before = (tmp_path / "out/manifest.json").stat().st_ino
    build_corpus(folder, tmp_path / "out", read=read, options=options)
    assert (tmp_path / "out/manifest.json").stat().st_ino == before
    assert "empty" not in capsys.readouterr().err


def test_standard_input_is_read_beside_skipped_files(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A cow.\n")))
    read = ReadOptions(skip_unreadable=True)
    corpus = build_corpus(["-", folder], tmp_path / "out", read=read, options=ONE_THREAD)
    assert corpus.vocabulary.id_of("cow") is not None
    assert sum("unreadable" in source for source in corpus.manifest["sources"]) == 5


def test_options_that_do_not_fit_a_file_do_not_make_it_unreadable(folder, tmp_path):
    (folder / "c.jsonl").write_text('{"body": "A cow."}\n')
    for read in (ReadOptions(skip_unreadable=True), ReadOptions(keep=("date",))):
        with pytest.raises(
            SourceError, match=r"^\S+/(c.jsonl:1: no|a.txt: plain text has no) field"
        ):
            build_corpus(folder, tmp_path / "out", read=read, options=ONE_THREAD)


def test_a_kept_field_may_be_missing_at_the_beginnings_of_files(tmp_path):
    records = [{"text": "word " * 100}] * 500 + [{"text": "a word", "year": 1999}]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in records))
    keep = ReadOptions(keep=("year",))
    corpus = build_corpus(tmp_path, tmp_path / "out", read=keep, options=ONE_THREAD)
    assert corpus.manifest["documents"] == 2 * len(records)


def test_a_folder_of_text_may_have_files_of_other_programs(text, tmp_path):
    for name in ("study.toml", "maker.json", "checksums.json"):
        (tmp_path / name).write_text("{}\n")
    build_corpus(tmp_path, tmp_path / "out", options=ONE_THREAD, read=ReadOptions(format="text"))


def test_nothing_but_files_that_cannot_be_read_is_an_error(tmp_path):
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(PDF)
    with pytest.raises(SourceError, match=r"2 of 2 files cannot be read: .*its text first$"):
        build_corpus(tmp_path, tmp_path / "o", read=ReadOptions(skip_unreadable=True))
