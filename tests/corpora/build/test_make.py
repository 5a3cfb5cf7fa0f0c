"""make_corpus: building or opening a corpus in one call."""

import pytest

from corpora.build.make import make_corpus
from corpora.build.request import BuildOptions
from corpora.common.errors import ArtifactError
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
    assert "too few documents for a held-out slice" in capsys.readouterr().err
