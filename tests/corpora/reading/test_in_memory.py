"""Text in memory: what is taken for text, for tokens, for fields and for paths."""

import json
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, FirthError, SourceError
from firth.corpora.encoding.build import build_corpus, open_or_build
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.search import Search
from firth.corpora.text.segment import TextSettings
from tests.corpora.small_corpora import arrays

pandas = pytest.importorskip("pandas")

ONE_THREAD = BuildOptions(threads=1)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (None, "<NoneType>: neither paths nor text; pass a list of strings, "),
        ({"text": ["a cat"]}, "<dict>: neither paths nor text; "),
        ("the cat sat.", "the cat sat.: no such file or folder; pass text itself in a list"),
        ("x " * 9999, f"{'x ' * 20}...: no such file or folder; pass text itself in a list: [t"),
        (["news.txt", "nwes"], "news.txt: no such file or folder; check the path"),
        (["here.txt", "A sentence."], "'here.txt' is a file, but other strings of the list are"),
        ([["a", "cat"], 3], "<list>:2: of type int; pass strings, "),
        ([Path("here.txt"), "no.txt"], "no.txt: no such file or folder; check the path"),
        ([["a", "cat"], "a dog"], "some texts are lists of tokens and others strings; divide all"),
        ([("a cat", {"text": 1})], "<list>:1: a field has the name 'text'; rename it"),
        (iter([]), "<list_iterator>: has no texts; an iterator can be read only once"),
        ([], "<list>: is empty; pass paths, strings, "),
        (zip(["a dog", "a cat"], "xy", strict=True), "<zip>:1: a tuple (str, str); pass strings"),
        ([("the cat", 1999)], "<list>:1: a tuple (str, int); pass strings"),
        ([("a dog ran",)], "<list>:1: a tuple (str); pass strings"),
        (np.array([["a", "b"]]), "<ndarray>: has 2 dimensions; pass one column of it"),
        ({"a cat", "a dog"}, "<set>: neither paths nor text; pass a list of strings"),
        (b"a cat", "<bytes>: neither paths nor text"),
        ([["the", None]], "<list>:1: a list with an object of type NoneType; pass strings"),
        ([("a", {"b": {(1, 2): 3}})], "<list>:1: a field cannot be stored as JSON (keys must be"),
        ([("a", {"b,c": 3})], "<list>: the field 'b,c' has a comma in its name; rename it"),
        (["cats", "dogs"], "cats: no such file or folder; check the path, or pass texts as iter("),
        ([Path("here.txt"), 5], "<list>: mixes paths and other objects"),
        ("a\0b", "a\0b: no such file or folder; pass text itself in a list: [text]"),
    ],
    ids=[
        "none", "columns", "text", "long", "mistyped", "both", "number", "path", "mixed",
        "name twice", "nothing", "no source", "labels", "year", "row", "matrix", "set", "bytes",
        "tokens", "keys", "comma", "words", "paths", "nul",
    ],
)  # fmt: skip
def test_what_is_neither_paths_nor_text_or_may_be_either_is_refused(
    sources, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("here.txt").write_text("a text\n", encoding="utf-8")
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


def fields_of(corpus):
    """Return the kept fields of a corpus, with a value for each document."""
    search, numbers = Search(corpus), range(corpus.n_documents)
    return {name: [search.fields(n)[name] for n in numbers] for name in search.field_names}


@pytest.mark.slow
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


def test_whole_numbers_of_a_column_that_lacks_some_have_no_point(tmp_path):
    frame = pandas.DataFrame({"text": TEXTS, "year": [1999, None], "score": [0.5, 2]})
    corpus = build_corpus(frame, tmp_path / "corpus", keep=["year", "score"])
    assert fields_of(corpus) == {"year": ["1999", ""], "score": ["0.5", "2"]}


def test_all_fields_of_pairs_are_kept_by_default(tmp_path):
    day = pandas.Timestamp(2001, 2, 3)
    fields = [{"year": 1999}, {"day": day, "none": float("nan")}]
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
    assert "1 record without a text was kept as an empty document" in capsys.readouterr().err


def test_text_in_memory_is_built_once_and_leaves_no_file(fresh_cache):
    first = build_corpus(iter(TEXTS), options=ONE_THREAD)
    before = (first.path / "manifest.json").stat().st_ino

    assert build_corpus(iter(TEXTS), options=ONE_THREAD).path == first.path
    assert (first.path / "manifest.json").stat().st_ino == before
    assert build_corpus(["A cat.", "An owl."], options=ONE_THREAD).path != first.path
    assert open_or_build(iter(TEXTS)).fingerprint == first.fingerprint
    assert list((fresh_cache / "text").iterdir()) == []


FRAME = pandas.DataFrame({"text": TEXTS})
TWICE = pandas.DataFrame([["a b", "1", "2"], ["e f", "3", "4"]], columns=["text", "k", "k"])
MISFITS = {
    "settings": (FRAME, {"text": TextSettings()}, "`text` must be the name of a field, got TextS"),
    "twice": (FRAME, {"text": "a", "read": ReadOptions(field="b")}, "`text`: also set by `read`"),
    "text": (FRAME, {"text": "b"}, "<DataFrame>: no field 'b'; the fields are: text"),
    "keep": (FRAME, {"keep": "year"}, "<DataFrame>: no field 'year'; the fields are: text"),
    "documents": (
        FRAME,
        {"read": ReadOptions(documents="line")},
        "`documents=line` is for plain",
    ),
    "columns": (TWICE, {"keep": ["k"]}, "<DataFrame>: has 2 columns 'k'; rename them"),
    "number": (TEXTS, {"keep": 5}, "`keep` must be names of fields, got"),
    "numbers": (TEXTS, {"keep": [5]}, "`keep` must be names of fields, got"),
    "records": (
        list(records()),
        {"text": "body", "keep": ["yaer"]},
        "no field 'yaer'; the fields are: body, year, n",
    ),
    "pairs": (
        list(WITH_FIELDS["pairs"]()),
        {"keep": ["yaer"]},
        "no field 'yaer'; the fields are: text, n, year",
    ),
}


@pytest.mark.parametrize(("source", "options", "message"), MISFITS.values(), ids=MISFITS)
def test_options_that_do_not_fit_text_in_memory_are_refused(source, options, message, tmp_path):
    with pytest.raises(FirthError, match=re.escape(message)):
        build_corpus(source, tmp_path / "corpus", **options)


def test_fields_are_stored_as_python_shows_them(tmp_path):
    none = [float("nan"), np.float32("nan"), np.datetime64("NaT"), pandas.NaT, pandas.NA, None]
    fields = [{"value": value} for value in (*none, np.int8(3), np.arange(2000), [np.float64(0.5)])]
    pairs = [("a word", each) for each in fields]
    corpus = build_corpus(pairs, tmp_path / "corpus", options=ONE_THREAD)
    *missing, number, array, nested = fields_of(corpus)["value"]
    assert missing == [""] * len(none)
    assert (number, nested) == ("3", "[0.5]")
    assert json.loads(array) == list(range(2000))


def test_the_text_may_be_kept_too(tmp_path):
    frame = pandas.DataFrame({"text": TEXTS})
    corpus = build_corpus(frame, tmp_path / "corpus", keep=["text"], options=ONE_THREAD)
    assert fields_of(corpus) == {"text": TEXTS}


@pytest.mark.parametrize("make", [iter, np.array, pandas.Series], ids=lambda make: make.__name__)
def test_names_of_files_are_not_taken_for_text(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("a text\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"has names of files, such as 'a.txt'; pass a list of"):
        build_corpus(make(["a.txt", "b.txt"]), tmp_path / "corpus")


def test_a_text_that_is_the_name_of_a_folder_is_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("corpora").mkdir()
    texts = ["Hello there.", ".", "corpora", "https://t.co/a look at this"]
    assert build_corpus(texts, tmp_path / "corpus", options=ONE_THREAD).n_documents == 4


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(ArtifactError, match=r"cannot be written .*; set FIRTH_CACHE to"):
        build_corpus(TEXTS, tmp_path / "corpus")


def test_texts_of_killed_processes_are_removed_after_a_week(fresh_cache):
    old, new = fresh_cache / "text" / "old", fresh_cache / "text" / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "text.jsonl").write_text("{}")
    a_week_ago = time.time() - 8 * 24 * 3600
    os.utime(old, (a_week_ago, a_week_ago))
    build_corpus(TEXTS, options=ONE_THREAD)
    assert (old.exists(), new.exists()) == (False, True)


def test_blocks_without_text_fit_tokens_and_plain_text(tmp_path):
    missing = '{"text": null}\n' * 40
    for name, text in (("tokens", '["New York", "is"]'), ("plain", '"New York is"')):
        file = tmp_path / f"{name}.jsonl"
        file.write_text(f'{missing}{{"text": {text}}}\n{missing}')
        request = make_request([file], read=None, text=None, options=ONE_THREAD, phrases=None)
        corpus = encode_corpus(request, tmp_path / name, block_bytes=64)
        assert corpus.n_documents == 81
