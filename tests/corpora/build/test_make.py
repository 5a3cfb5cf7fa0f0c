"""make_corpus: building or opening a corpus in one call."""

import re

import pytest

from corpora.build.make import make_corpus
from corpora.build.open_or_build import open_or_build
from corpora.build.request import BuildOptions
from corpora.common.errors import ArtifactError, SourceError
from corpora.reading.text_blocks import ReadOptions
from corpora.text.segment import TextSettings

ONE_THREAD = BuildOptions(threads=1)


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("The cat sat.\n\nThe dog ran.\n", encoding="utf-8")
    return file


def test_an_up_to_date_corpus_is_opened_not_rebuilt(text, tmp_path):
    out = tmp_path / "corpus"
    made = make_corpus(text, out, options=ONE_THREAD)
    before = (out / "manifest.json").stat().st_ino

    assert make_corpus([str(text)], str(out), options=ONE_THREAD).fingerprint == made.fingerprint
    assert (out / "manifest.json").stat().st_ino == before
    make_corpus(text, out, options=ONE_THREAD, force=True)
    assert (out / "manifest.json").stat().st_ino != before


def test_other_settings_replace_an_existing_corpus_only_if_forced(text, tmp_path):
    out = tmp_path / "corpus"
    make_corpus(text, out, options=ONE_THREAD)
    settings = {"read": ReadOptions(documents="block"), "text": TextSettings(keep_case=True)}

    with pytest.raises(ArtifactError):
        make_corpus(text, out, options=ONE_THREAD, **settings)

    corpus = make_corpus(text, out, options=ONE_THREAD, force=True, **settings)
    assert corpus.n_documents == 2
    assert "The" in list(corpus.vocabulary.words(0, len(corpus.vocabulary)))


def test_notes_on_the_corpus_are_printed(text, tmp_path, capsys):
    make_corpus(text, tmp_path / "corpus", options=ONE_THREAD)
    assert "too little text for a held-out slice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([["the", "cat"]], "got list; write sentences to a text file first, one per line"),
        ((line.split() for line in ["the cat"]), "a source must be a path, got list; "),
        (None, "a source must be a path, got NoneType; "),
        ("the cat sat.", "the cat sat.: no such file or folder; write text to a file"),
        (["the cat sat.", "a dog"], "the cat sat.: no such file or folder; write text to a file"),
    ],
    ids=["lists", "generator", "none", "text", "texts"],
)
def test_sentences_in_place_of_paths_are_refused(sources, message, tmp_path):
    with pytest.raises(SourceError, match=re.escape(message)):
        make_corpus(sources, tmp_path / "corpus")
    with pytest.raises(SourceError, match=r"got list|got generator|got NoneType|write text to"):
        open_or_build(sources)


def test_a_corpus_is_not_built_from_a_corpus(text, tmp_path):
    corpus = make_corpus(text, tmp_path / "corpus", options=ONE_THREAD)
    with pytest.raises(SourceError, match=r"corpus: a corpus already; train on it as it is$"):
        make_corpus(corpus.path, tmp_path / "other")
