"""Means of the words that share n-grams, against plain loops."""

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.ngram_means import with_ngram_means
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus

ENDINGS = ("s", "ed", "ing", "er", "est", "ly")
WORDS = [stem + ending for stem in ("warm", "cold", "kind") for ending in ENDINGS] + ["ox", "日本"]


def grams_of(word):
    text = f"<{word}>"
    return [text[at : at + n] for n in range(3, 7) for at in range(len(text) - n + 1)]


def test_words_have_the_mean_of_their_n_grams_and_unseen_words_too():
    vectors = np.random.default_rng(2).normal(size=(len(WORDS), 5)).astype(np.float32)
    found, table = with_ngram_means(vectors, WORDS, 3, "run")
    own = vectors[:, :3] / np.linalg.norm(vectors[:, :3], axis=1, keepdims=True)
    own = own - own.mean(axis=0)
    having = {}
    for row, word in enumerate(WORDS):
        for gram in grams_of(word):
            having.setdefault(gram, []).append(row)
    means = {g: own[rows].sum(0) / (len(rows) + 10) for g, rows in having.items() if len(rows) >= 5}
    assert len(table.rows) == len(means) > 5
    np.testing.assert_array_equal(found[:, :5], vectors)
    for row, word in enumerate(WORDS):
        total = sum((means[g] for g in grams_of(word) if g in means), np.zeros(3))
        length = np.linalg.norm(vectors[row, :3]) / 2 / (np.linalg.norm(total) or 1)
        np.testing.assert_allclose(found[row, 5:], length * total, atol=1e-5)
    unseen = np.mean([means[g] for g in grams_of("warmish") if g in means], axis=0)
    composed = table.compose_all(["warmish", "zzz"])
    np.testing.assert_allclose(composed[0], [*unseen, 0, 0, *unseen / 2], atol=1e-6)
    assert not composed[1].any()


def test_the_best_vectors_of_a_run_answer_words_that_it_lacks(tmp_path):
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(WORDS, 8)) for _ in range(200)]
    settings = SvdConfig(dim=6, min_count=1, threads=1, device="cpu", best=True)
    run = make_svd_run(SmallCorpus("\n".join(lines)), settings, tmp_path / "run")
    vectors = WordVectors.open(run)
    assert vectors.dim == 6 + 2 * 6 + 6
    assert "warmish" not in vectors
    assert vectors.vector("warmish").any()
    assert vectors.vector("zzz") is None
    again = vectors.in_memory().vector("warmish")
    np.testing.assert_array_equal(again, vectors.vector("warmish"))


def test_n_grams_that_are_wider_than_the_words_allow_are_refused(tmp_path):
    vectors = np.random.default_rng(2).normal(size=(len(WORDS), 5)).astype(np.float32)
    matrix, table = with_ngram_means(vectors, WORDS, 5, "run")
    WordVectors(WORDS, matrix[:, 1:]).write(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    table.save(tmp_path)
    with pytest.raises(ArtifactError, match="n-grams of 5 dimensions do not fit vectors of 9"):
        WordVectors.open(tmp_path)


def test_best_needs_whole_words():
    with pytest.raises(SettingError, match="`best`: appends n-grams of whole words; drop `pieces`"):
        SvdConfig(best=True, pieces=500)
