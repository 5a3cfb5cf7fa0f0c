"""Mean vectors of the neighbors of words, against plain sums over their occurrences."""

import itertools
import tracemalloc

import numpy as np
import pytest

from firth.embed.svd import side_means
from firth.embed.svd.cooccurrence import Cooccurrences
from firth.embed.svd.train import SvdConfig, make_svd_run, workspace
from firth.embed.vectors import ngram_means
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus

LINES = ["the cat sat by the cat", "a dog sat", "the dog ran", "alone"] * 20


@pytest.fixture(scope="module")
def corpus():
    return SmallCorpus("\n".join(LINES))


def trained(corpus, run, **options):
    fixed = {"dim": 4, "min_count": 1, "threads": 1, "device": "cpu", "subsample": 0.02}
    return WordVectors.open(make_svd_run(corpus, SvdConfig(**fixed | options), run))


def plain_means(corpus, vectors, width):
    """The means of both sides of each word, token by token."""
    view = corpus.view(min_count=1, max_vocabulary=None, boundary="paragraph", punctuation="drop")
    rows = np.array(vectors.matrix, float)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, where=lengths > 0, out=np.zeros_like(rows))[:, :width]
    keep = np.minimum(1, np.sqrt(0.02 / (view.counts / view.counts.sum())))
    sums, totals = np.zeros((2, *units.shape)), np.zeros((2, len(units)))
    for tokens, bounds in view.shards():
        for first, stop in itertools.pairwise(bounds.tolist()):
            for left, right in itertools.pairwise(tokens[first:stop].tolist()):
                for side, (word, neighbor) in enumerate([(right, left), (left, right)]):
                    sums[side, word] += keep[neighbor] * units[neighbor]
                    totals[side, word] += keep[neighbor]
    means = []
    for part, total in zip(sums, totals, strict=True):
        known = total > 0
        part[known] /= total[known, None]
        part[known] -= part[known].mean(axis=0)
        means.append(part)
    both = np.concatenate(means, axis=1)
    norms = np.linalg.norm(both, axis=1, keepdims=True)
    return lengths / 2 * np.divide(both, norms, where=norms > 0, out=np.zeros_like(both))


@pytest.mark.parametrize("width", [1, 3, 4, 9])
def test_the_means_of_left_and_right_neighbors_are_appended(corpus, tmp_path, width, monkeypatch):
    plain = trained(corpus, tmp_path / "plain")
    monkeypatch.setattr(side_means, "_ENTRIES", 3)  # rows are multiplied in several blocks
    found = np.array(trained(corpus, tmp_path / "run", side_means=width).matrix)
    assert found.shape == (len(plain), 4 + 2 * min(width, 4))
    np.testing.assert_array_equal(found[:, :4], plain.matrix)
    expected = plain_means(corpus, plain, min(width, 4))
    np.testing.assert_allclose(found[:, 4:], expected, atol=1e-5)
    assert not found[list(plain.vocabulary).index("alone"), 4:].any()


def test_words_that_are_never_adjacent_have_means_of_zero(tmp_path):
    lines = [f"{a} rare{n} {b}" for n, (a, b) in enumerate([("sea", "sun"), ("sun", "sky")] * 9)]
    options = {"dim": 2, "max_vocabulary": 3, "side_means": 2}  # other words keep their places
    run = trained(SmallCorpus("\n".join(lines)), tmp_path / "run", **options)
    assert list(run.vocabulary) == ["sun", "sea", "sky"]
    np.testing.assert_array_equal(run.matrix[:, 2:], np.zeros((3, 4)))
    assert run.matrix.any()


@pytest.mark.parametrize("options", [{"memory": "400M"}, {"threads": 2}])
def test_the_means_do_not_depend_on_threads_and_memory(corpus, tmp_path, options):
    one = trained(corpus, tmp_path / "one", side_means=3, best=True)
    other = trained(corpus, tmp_path / "other", side_means=3, best=True, **options)
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_the_means_fit_the_memory_of_factoring(monkeypatch):
    monkeypatch.setattr(ngram_means, "_AT_ONCE", 200)  # few beside this test's words
    n_words = 5_000
    vectors = np.random.default_rng(1).standard_normal((n_words, 300), dtype=np.float32)
    rows = np.arange(n_words, dtype=np.int32)
    neighbors = Cooccurrences(np.arange(n_words + 1), rows[::-1], np.ones(n_words, np.uint32), 1)
    words = [f"{row:o}" for row in rows]
    # what it imports is not counted
    ngram_means.with_ngram_means(vectors[:9], words[:9], 300, "run")
    tracemalloc.start()
    try:
        sides = side_means.with_side_means(vectors, neighbors, np.ones(n_words), 100)
        _, of_sides = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        ngram_means.with_ngram_means(sides, words, 300, "run")
        _, of_ngrams = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert vectors.nbytes + of_sides < workspace(n_words, SvdConfig(dim=300, side_means=100))
    assert of_ngrams < workspace(n_words, SvdConfig(dim=300, best=True))
