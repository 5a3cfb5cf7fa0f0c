"""Geometry of one run's vectors: each measure against its definition."""

import math

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from firth.embed.compare.intrinsic.geometry import (
    FunctionOfMeans,
    PairCosines,
    neighborhoods,
    partition_ratio,
    same_length,
    skewness,
)
from firth.embed.vectors.search import unit_length


def directions(n_words, dim, seed=1, shift=0.0):
    """Random unit vectors around a shifted mean."""
    vectors = np.random.default_rng(seed).normal(size=(n_words, dim))
    vectors[:, 0] += shift
    return unit_length(vectors)


def draws(n_items, replicates=30, seed=2):
    """Counts of one, then draws with replacement."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=replicates)
    return np.vstack([np.ones((1, n_items), np.int64), drawn]).astype(np.uint8)


def naive_mean_cosine(units, counts):
    """The definition: every pair of drawn words, unless they are the same word."""
    drawn = np.repeat(np.arange(len(units)), counts).tolist()
    return np.mean([units[i] @ units[j] for i in drawn for j in drawn if i != j])


def naive_partition_ratio(units):
    """The definition: sums over words along every eigenvector in both directions."""
    _, vectors = np.linalg.eig(units.T @ units)
    sums = [
        sum(math.exp(sign * float(word @ c.real)) for word in units)
        for c in vectors.T
        for sign in (1, -1)
    ]
    return min(sums) / max(sums)


def naive_neighbors(units, k):
    """The definition: all others sorted by cosine, then by row."""
    cosines = (units @ units.T).round(12)
    near = np.zeros(cosines.shape, dtype=bool)
    for i, row in enumerate(cosines.tolist()):
        others = [j for j in range(len(row)) if j != i]
        near[i, sorted(others, key=lambda j: (-row[j], j))[:k]] = True
    return near


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_mean_cosine_averages_all_pairs_of_different_words(shift):
    units, counts = directions(15, 4, shift=shift), draws(15)

    found = PairCosines(units).evaluate(counts)

    expected = [naive_mean_cosine(units, row) for row in counts]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_mean_cosine_is_the_same_for_sparse_and_dense_vectors():
    units = directions(100, 30) * (np.random.default_rng(3).random((100, 30)) < 0.2)
    units, counts = unit_length(units + 1e-9), draws(100, 200)

    found = PairCosines(scipy.sparse.csr_matrix(units)).evaluate(counts)

    np.testing.assert_allclose(found, PairCosines(units).evaluate(counts), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_partition_ratio_matches_the_definition(shift):
    units = directions(40, 6, shift=shift)

    found = partition_ratio(units).evaluate(np.ones((1, 40), np.uint8))

    assert found[0] == pytest.approx(naive_partition_ratio(units), abs=1e-12)


def test_skewness_matches_that_of_repeated_values():
    values, counts = np.random.default_rng(4).poisson(3, size=80), draws(80)

    found = skewness(values).evaluate(counts)

    expected = [scipy.stats.skew(np.repeat(values, row)) for row in counts]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_words", "k"), [(12, 3), (600, 10)])
def test_neighborhoods_match_the_definition(n_words, k):
    # few values a coordinate: many cosines tie; 600 words take two blocks
    vectors = np.random.default_rng(5).integers(-1, 2, size=(n_words, 5)).astype(np.float64)
    units = unit_length(vectors + (vectors == 0).all(axis=1, keepdims=True))

    near = neighborhoods(units, k)

    assert (near.sum(axis=1) == k).all()
    np.testing.assert_array_equal(near, naive_neighbors(units, k))
    np.testing.assert_array_equal(neighborhoods(scipy.sparse.csr_matrix(units), k), near)


def test_parallel_vectors_of_different_length_tie_as_neighbors():
    vectors = np.random.default_rng(9).normal(size=(15, 6))
    units = unit_length(np.concatenate([vectors, vectors / 3, vectors * 0.7, vectors * 1e5]))

    near = neighborhoods(units, 10)

    np.testing.assert_array_equal(near, naive_neighbors(units, 10))


def test_equal_cosines_give_no_neighborhoods():
    assert neighborhoods(scipy.sparse.identity(30, format="csr"), 10) is None
    assert neighborhoods(np.tile([[0.6, 0.8]], (30, 1)), 10) is None


def test_same_length_allows_for_rounding():
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(50, 300))
    units = unit_length(vectors)

    assert same_length(np.linalg.norm(units.astype(np.float32), axis=1))
    assert same_length(np.linalg.norm(units.round(5), axis=1))
    assert not same_length(np.linalg.norm(vectors, axis=1))


@pytest.mark.parametrize(
    "statistic",
    [
        PairCosines(directions(40, 6, shift=1.0)),
        partition_ratio(directions(40, 6, shift=1.0)),
        skewness(np.arange(40) ** 2),
        FunctionOfMeans(np.arange(80.0).reshape(40, 2), lambda a, b: a / b),
    ],
    ids=["mean cosine", "partition ratio", "skewness", "of means"],
)
def test_take_equals_zero_counts_for_the_other_items(statistic):
    chosen = np.random.default_rng(7).random(40) < 0.5
    counts = draws(40) * chosen.astype(np.uint8)

    assert statistic.n_items == 40
    assert statistic.take(chosen).n_items == chosen.sum()
    np.testing.assert_allclose(
        statistic.take(chosen).evaluate(counts[:, chosen]), statistic.evaluate(counts), atol=1e-12
    )
