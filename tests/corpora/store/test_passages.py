"""Passages of documents, with labels and groups from kept fields."""

import json

import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.passages import passages, proper_names

TEXTS = [
    'I saw Tom run. The dog saw Tom\'s cat, and Mary hid. Tom said, "The cat ran."',
    "We ran home. Then we ran on, and on we ran again.",
    "Nobody wrote this one.",
    "Home is far. We saw the sea.",
]
FIELDS = [("A", "x"), ("B", "y"), ("", "y"), ("A", "z")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a corpus that keeps text and fields, and one that keeps fields."""
    folder = tmp_path_factory.mktemp("passages")
    records = (
        {"text": text, "author": author, "book": book}
        for text, (author, book) in zip(TEXTS, FIELDS, strict=True)
    )
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    for name, more in (("kept", ["--keep-text"]), ("bare", [])):
        build = ["build-corpus", str(folder / "a.jsonl"), "--keep", "author,book", *more]
        assert CliRunner().invoke(cli.main, [*build, "--out", str(folder / name)]).exit_code == 0
    return folder


def test_passages_are_consecutive_words_of_one_labeled_document(folder):
    rows = passages(Corpus.open(folder / "kept"), "author", "book", 3, 0)
    expected = [
        (author, book, " ".join(text.split()[start : start + 3]))
        for text, (author, book) in zip(TEXTS, FIELDS, strict=True)
        if author
        for start in range(0, len(text.split()) - 2, 3)
    ]
    assert rows == expected
    by_document = passages(Corpus.open(folder / "kept"), "author", "document", 3, 0)
    assert [group for _, group, _ in by_document] == [str("xy z".index(b) + 1) for _, b, _ in rows]


def test_a_limit_takes_passages_from_the_beginning_to_the_end(folder):
    corpus = Corpus.open(folder / "kept")
    every = passages(corpus, "author", "book", 2, 0)
    of_x = [row for row in every if row[1] == "x"]
    three = [row for row in passages(corpus, "author", "book", 2, 3) if row[1] == "x"]
    assert three == [of_x[0], of_x[4], of_x[7]]


def test_names_are_capitalized_within_sentences(folder):
    corpus = Corpus.open(folder / "kept")
    assert proper_names(corpus) == {"tom", "mary"}
    rows = passages(corpus, "author", "book", 1, 0, {"tom", "mary", "home"})
    assert " ".join(text for _, group, text in rows if group in "xz") == (
        'I saw run. The dog saw cat, and hid. said, "The cat ran." is far. We saw the sea.'
    )
    assert "home." in [text for _, group, text in rows if group == "y"]


def test_the_file_has_columns_for_compare_by_groups(folder):
    out = folder / "deep" / "passages.tsv"
    words = f"passages {folder}/kept --label author --groups book --length 4 --mask-names"
    result = CliRunner().invoke(cli.main, [*words.split(), "--out", str(out)])
    assert result.stdout == (
        f"{out}: 7 passages of 4 words, 2 labels, 3 groups; 2 names left out\n"
    )
    assert out.read_text().splitlines()[:2] == ["label\tbook\ttext", "A\tx\tI saw run. The"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("kept --label year", "keeps no field 'year'"),
        ("kept --label author --groups year", "keeps no field 'year'"),
        ("kept --label author --length 50", "no document with author has --length 50"),
        ("bare --label author", "keeps no text; build it again with --keep-text"),
    ],
)
def test_corpora_without_what_is_needed_are_refused(folder, words, message):
    out = folder / "refused.tsv"
    result = CliRunner().invoke(cli.main, ["passages", *f"{folder}/{words} --out {out}".split()])
    assert result.exit_code == 1
    assert message in result.output
    assert not out.exists()
