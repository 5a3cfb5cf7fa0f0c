"""Retrieval against loops that follow the definitions."""

import numpy as np
import pytest

from firth.embed.align.pairs import Pairs
from firth.embed.align.retrieval import neighborhood_means, precision, wrong_before
from firth.embed.vectors.search import unit_length

QUERIES = np.array([0, 0, 1, 2, 3, 4, 5])  # word 0 has two partners
COLUMNS = np.array([4, 9, 1, 1, 30, 7, 8])


def random_units(n_words, dim, seed):
    """Return random vectors of unit length."""
    vectors = np.random.default_rng(seed).standard_normal((n_words, dim))
    return unit_length(vectors).astype(np.float32)


def naive_csls(a, b, k):
    """2 cos(x, y) - r_T(x) - r_S(y) of all words (Conneau et al. 2018, equation 6)."""
    scores = np.empty((len(a), len(b)))
    for i, x in enumerate(a):
        r_t = np.mean(sorted((float(x @ y) for y in b), reverse=True)[:k])
        for j, y in enumerate(b):
            r_s = np.mean(sorted((float(z @ y) for z in a), reverse=True)[:k])
            scores[i, j] = 2 * float(x @ y) - r_t - r_s
    return scores


def naive_before(scores):
    """The place of the first right target of each query in the sorted list, from 0."""
    places = []
    for query, row in enumerate(scores):
        right = {c for q, c in zip(QUERIES, COLUMNS, strict=True) if q == query}
        ordered = sorted(range(len(row)), key=lambda column: -row[column])
        places.append(next(n for n, column in enumerate(ordered) if column in right))
    return places


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_csls_and_cosine_match_their_definitions(block):
    a, b = random_units(25, 6, 1), random_units(31, 6, 2)
    means = neighborhood_means(b, a, 10, block=block)
    csls = wrong_before(a[:6], b, means / 2, QUERIES, COLUMNS, block=block)
    cosine = wrong_before(a[:6], b, np.zeros(31, np.float32), QUERIES, COLUMNS, block=block)
    assert csls.tolist() == naive_before(naive_csls(a, b, 10)[:6])
    assert cosine.tolist() == naive_before((a @ b.T)[:6])


def test_csls_passes_over_a_hub():
    # the query is nearest to the first target, as are all other words of A
    a = unit_length(np.array([[4.0, 3, 0], [1, 0, 0], [1, 0, 0.1], [1, 0.1, 0]]))
    b = unit_length(np.array([[1.0, 0.2, 0], [0.45, 1, 0]]))
    a, b = a.astype(np.float32), b.astype(np.float32)
    one, first = np.zeros(1, np.int64), np.ones(1, np.int64)
    hub = neighborhood_means(b, a, 10)
    assert wrong_before(a[:1], b, np.zeros(2, np.float32), one, first).tolist() == [1]
    assert wrong_before(a[:1], b, hub / 2, one, first).tolist() == [0]


def test_ties_count_as_wrong():
    same = np.ones((3, 1), np.float32)
    nothing = np.zeros(3, np.float32)
    assert wrong_before(same[:1], same, nothing, np.zeros(1, int), np.ones(1, int)).tolist() == [2]


def test_precision_counts_words_once_and_skips_zero_vectors_of_b():
    b = np.eye(6, dtype=np.float32)
    b[3] = 0
    a = b[[0, 1, 2, 4, 5]]
    pairs = Pairs(np.array([0, 0, 1, 3, 4]), np.array([0, 5, 2, 4, 5]))  # word 1 is wrong

    found = {(each.retrieval, each.at): each for each in precision(a, b, pairs, 6, seed=1)}

    assert [each.score for each in found.values()] == pytest.approx([0.75, 1, 0.75, 1])
    assert 0 <= found["cosine", 1].low < 0.75 < found["cosine", 1].high <= 1


def test_a_single_word_has_no_interval():
    rows = np.eye(3, dtype=np.float32)
    found = precision(rows, rows, Pairs(np.array([1]), np.array([1])), 3, seed=1)
    assert [(each.score, each.low, each.high) for each in found] == [(1, None, None)] * 4


def test_held_out_words_count_among_the_neighbors_of_b():
    # without them, the first rows of A would have none
    rows = np.eye(3, dtype=np.float32)
    a = np.concatenate([np.zeros((2, 3), np.float32), rows])
    found = precision(a, rows, Pairs(np.array([2, 3]), np.array([0, 1])), 2, seed=1)
    assert [each.score for each in found] == [1, 1, 1, 1]
