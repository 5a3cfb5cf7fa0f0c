"""Settings whose default depends on the text: the tokens that a word needs, and subsampling."""

import json

import pytest

from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.store import corpus as store
from firth.corpora.text.segment import TextSettings
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram

LINES = ["a = b c", "b c = a", "a b ( c"] * 4 + ["a rare c"]


def corpus_of(segmenter: str) -> store.Corpus:
    """Build a corpus of all lines."""
    settings, options = TextSettings(segmenter=segmenter), BuildOptions(held_out=0)
    return build_corpus(iter(LINES), words=settings, options=options)


@pytest.mark.parametrize(
    ("segmenter", "given", "few", "expected"),
    [
        ("tokens", None, 1000, 1), ("tokens", None, 10, 5), ("tokens", 4, 1000, 4),
        ("whitespace", None, 1000, 5), ("words", 1, 1000, 1),
    ],
)  # fmt: skip
def test_few_sequences_of_tokens_have_vectors_of_all(
    segmenter, given, few, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(store, "FEW_TOKENS", few)
    corpus = corpus_of(segmenter)
    trainings = [
        (train_svd, SvdConfig(min_count=given, dim=2, window=2)),
        (train_skipgram, SkipGramConfig(min_count=given, dim=2, epochs=1, subsample=0)),
    ]
    for number, (train, config) in enumerate(trainings):
        vectors = train(corpus, config, tmp_path / str(number))

        assert ("rare" in vectors.vocabulary) == (expected == 1)
        assert ("=" in vectors.vocabulary) == (segmenter == "tokens")
        assert json.loads((tmp_path / str(number) / "config.json").read_text())["min_count"] == (
            expected
        )


def test_a_token_vocabulary_limits_the_default_width_and_what_is_cut_is_noted(capsys):
    corpus = corpus_of("tokens")

    assert train_svd(corpus).dim == len(corpus.view().words)
    assert train_svd(corpus, SvdConfig(max_vocabulary=3)).dim == 3

    note = "vectors of 3 of 6 tokens, the most frequent; `max_vocabulary=6` makes those of all"
    assert capsys.readouterr().err.count(note) == 1


@pytest.mark.parametrize(("segmenter", "subsample"), [("words", 1e-4), ("tokens", 0.0)])
def test_frequent_items_are_not_dropped_by_default(segmenter, subsample, tmp_path):
    config = SkipGramConfig(min_count=1, dim=2, epochs=500, threads=1)
    train_skipgram(corpus_of(segmenter), config, tmp_path / "run")

    recorded = json.loads((tmp_path / "run" / "config.json").read_text())
    assert recorded["subsample"] == subsample
