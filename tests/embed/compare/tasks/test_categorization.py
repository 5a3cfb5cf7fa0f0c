"""Categorization: clusters, metrics, and undefined scores."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from firth.embed.compare.datasets.categories import CategoryWord
from firth.embed.compare.statistics.bootstrap import key_of
from firth.embed.compare.tasks.categorization import CategorizationTask, cluster_words
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores


def planted_words(noise, n_each=20, n_categories=5, dim=30):
    """Words around the center of their category, with vectors of any length."""
    rng = np.random.default_rng(4)
    centers = np.repeat(rng.normal(size=(n_categories, dim)), n_each, axis=0)
    matrix = centers + noise * rng.normal(size=centers.shape)
    matrix *= rng.uniform(0.1, 10, size=(len(matrix), 1))
    words = [f"w{place}" for place in range(len(matrix))]
    task = CategorizationTask(
        "set", [CategoryWord(word, f"c{place // n_each}") for place, word in enumerate(words)]
    )
    return task, WordVectors(words, matrix.astype(np.float32))


def test_separated_categories_are_found_at_any_vector_length():
    assert scores(*planted_words(noise=0.1)) == {
        "purity": 1.0,
        "nmi": pytest.approx(1.0),
        "ari": pytest.approx(1.0),
    }


def test_metrics_are_the_means_of_scikit_learns_over_the_clusterings():
    task, vectors = planted_words(noise=2.5)
    categories = [word.category for word in task.words]
    _, nmi, ari = ask(task, vectors)
    clusterings = ari.statistic.clusters

    assert len({tuple(clusters) for clusters in clusterings.tolist()}) > 1
    assert 0.2 < score(nmi) < 0.95
    for measured, theirs in ((nmi, normalized_mutual_info_score), (ari, adjusted_rand_score)):
        each = [theirs(categories, clusters) for clusters in clusterings]
        np.testing.assert_allclose(measured.statistic.once(), each, rtol=0, atol=1e-12)
        assert score(measured) == pytest.approx(np.mean(each))


def test_a_start_depends_on_seed_set_and_its_number_only():
    task, vectors = planted_words(noise=2.5)
    unit = (vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)).astype(float)

    def clusterings(seed, dataset):
        found = replace(task, seed=seed, dataset=dataset).measure(vectors, np.ones(100, bool))
        return found[0].statistic.clusters

    key = [1, key_of("set")]
    np.testing.assert_array_equal(clusterings(1, "set")[:3], cluster_words(unit, 5, key, starts=3))
    assert (clusterings(1, "set") != clusterings(2, "set")).any()
    assert (clusterings(1, "set") != clusterings(1, "other")).any()


def test_clusters_are_deterministic_and_the_same_for_sparse_vectors():
    task, vectors = planted_words(noise=2.5)
    sparse = WordVectors(vectors.vocabulary, scipy.sparse.csr_matrix(vectors.matrix))

    first = scores(task, vectors)

    assert scores(task, vectors) == first
    assert scores(task, sparse) == pytest.approx(first)


def test_only_known_words_and_their_categories_are_clustered():
    task, vectors = planted_words(noise=0.1)
    known = WordVectors(vectors.vocabulary[:40], vectors.matrix[:40])

    purity, *_ = ask(task, known)

    assert (purity.items.tolist(), purity.items_total) == (list(range(40)), 100)
    assert score(purity) == 1.0
    assert task.known(known, "mean").all()
    # the unknown are one point: of their three categories one is in the majority there
    assert scores(task, known, "zero")["purity"] < 0.9


def test_zero_vectors_are_clustered_and_counted():
    task, vectors = planted_words(noise=0.1)
    matrix = vectors.matrix.copy()
    matrix[[3, 50]] = 0

    purity, *_ = ask(task, WordVectors(vectors.vocabulary, matrix))

    assert (len(purity.items), purity.items_zero) == (100, 2)
    assert 0.9 < score(purity) < 1


def test_fewer_distinct_vectors_than_categories_are_accepted():
    matrix = np.ones((6, 2), dtype=np.float32)
    task = CategorizationTask("set", [CategoryWord(w, w if w < "d" else "d") for w in "abcdef"])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scores(task, WordVectors(list("abcdef"), matrix))["purity"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ("", "no word is known"),
        ("ab", "all known words have the same category"),
        ("a", "all known words have the same category"),
        ("ac", "no two known words share a category"),
    ],
)
def test_undefined_scores_give_the_reason(known, reason):
    task = CategorizationTask(
        "set", [CategoryWord("a", "1"), CategoryWord("b", "1"), CategoryWord("c", "2")]
    )
    words = ["z", *known]

    for result in ask(task, WordVectors(words, np.eye(len(words), 3, dtype=np.float32))):
        assert (result.statistic, result.reason) == (None, reason)
        assert (len(result.items), result.items_total) == (len(known), 3)
