"""Weighting against the dense formula, by hand, and subsampling as an expectation."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.svd.cooccurrence import Cooccurrences, count_cooccurrences
from firth.embed.svd.ppmi import keep_probabilities, weigh
from tests.embed.small_corpus import SmallView, dense


def from_dense(matrix, denominator=1, dtype=np.uint32):
    """Return the counts of a dense integer matrix, as a copy, since ``weigh`` overwrites them."""
    matrix = np.asarray(matrix)
    rows, columns = matrix.nonzero()
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return Cooccurrences(
        starts, columns.astype(np.int32), matrix[rows, columns].astype(dtype), denominator
    )


def naive_ppmi(counts, keep, smoothing, shift):
    """Return dense max(PMI - log shift, 0) as in Levy, Goldberg and Dagan 2015."""
    pairs = counts * keep[:, None] * keep[None, :]
    word, context = pairs.sum(axis=1), pairs.sum(axis=0) ** smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = pairs / pairs.sum()
        pmi = np.log(joint / np.outer(word / word.sum(), context / context.sum()))
    return np.maximum(np.where(pairs > 0, pmi - math.log(shift), 0), 0)


squares = st.integers(1, 7).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 9), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


@pytest.mark.slow
@given(
    counts=squares.filter(lambda rows: any(map(any, rows))),
    smoothing=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    shift=st.sampled_from([0.5, 1.0, 5.0]),
    dtype=st.sampled_from([np.uint32, np.int64]),
    seed=st.integers(0, 9),
)
def test_ppmi_equals_the_dense_formula(counts, smoothing, shift, dtype, seed):
    counts = np.array(counts)
    keep = np.random.default_rng(seed).uniform(0.1, 1, len(counts))

    matrix = weigh(
        from_dense(counts, denominator=3, dtype=dtype),
        keep=keep, context_smoothing=smoothing, shift=shift,
    )  # fmt: skip

    expected = naive_ppmi(counts, keep, smoothing, shift)
    assert matrix.dtype == np.float32
    assert matrix.has_sorted_indices
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6, atol=1e-9)
    assert (matrix.data > 0).all()


def test_ppmi_worked_by_hand():
    # 8 pairs; row sums 5 and 3, column sums likewise; PMI(a, b) = log(3 * 8 / (5 * 3))
    matrix = weigh(from_dense([[2, 3], [3, 0]])).toarray()
    assert matrix == pytest.approx(np.array([[0, math.log(8 / 5)], [math.log(8 / 5), 0]]))


def test_smoothing_worked_by_hand():
    # contexts 5 and 3 count as 5^.5 and 3^.5
    total = math.sqrt(5) + math.sqrt(3)
    matrix = weigh(from_dense([[2, 3], [3, 0]]), context_smoothing=0.5).toarray()
    assert matrix[0, 1] == pytest.approx(math.log(3 * total / (5 * math.sqrt(3))))
    assert matrix[1, 0] == pytest.approx(math.log(3 * total / (3 * math.sqrt(5))))


def test_a_shift_subtracts_its_logarithm():
    plain = weigh(from_dense([[0, 9], [9, 1]])).toarray()
    shifted = weigh(from_dense([[0, 9], [9, 1]]), shift=1.5).toarray()
    assert shifted[0, 1] == pytest.approx(plain[0, 1] - math.log(1.5))


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_counts_and_log_counts_are_in_pairs_of_weight_1(dtype):
    dense = np.array([[0, 6, 3], [6, 0, 0], [3, 0, 0]])
    keep = np.array([0.5, 1, 1])
    for weighting, expected in (("counts", dense / 3 / 2), ("log-counts", np.log1p(dense / 3 / 2))):
        counts = from_dense(dense, denominator=3, dtype=dtype)
        matrix = weigh(counts, weighting=weighting, keep=keep).toarray()
        np.testing.assert_allclose(matrix, expected, rtol=1e-6)


def test_words_without_pairs_have_empty_rows():
    matrix = weigh(from_dense([[0, 4, 0], [4, 0, 0], [0, 0, 0]]), context_smoothing=0.75)
    assert np.diff(matrix.indptr).tolist() == [1, 1, 0]
    assert np.isfinite(matrix.data).all()


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("weighting", ["ppmi", "log-counts"])
def test_any_number_of_threads_gives_the_same_bytes(weighting, dtype):
    rng = np.random.default_rng(3)
    counts = from_dense(rng.poisson(0.3, (150, 150)), denominator=5, dtype=dtype)

    def weighed(threads):
        copy = dataclasses.replace(
            counts, columns=counts.columns.copy(), counts=counts.counts.copy()
        )
        keep = np.linspace(0.1, 1, 150)
        options = {"weighting": weighting, "keep": keep, "context_smoothing": 0.75}
        matrix = weigh(copy, **options, threads=threads, chunk_entries=300)
        return [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)]

    assert weighed(1) == weighed(2) == weighed(7)


def test_the_matrix_shares_the_memory_of_the_counts():
    counts = from_dense([[0, 9], [9, 1]])
    assert np.shares_memory(weigh(counts).data, counts.counts)


def test_keep_probabilities_follow_the_paper():
    counts = np.array([900, 99, 1])
    assert keep_probabilities(counts, 1e-2) == pytest.approx(
        [math.sqrt(0.01 / 0.9), math.sqrt(0.01 / 0.099), 1]
    )
    assert keep_probabilities(counts, 0).tolist() == [1, 1, 1]


def test_subsampling_weights_are_the_expectation_of_dropping_pairs_at_random():
    # Each end of a pair is kept independently; 6 cells within 5 standard errors of 4000 draws
    # give a false alarm for fewer than 1 in 10^5 seeds, and the seed is fixed.
    rng = np.random.default_rng(5)
    units = [[*rng.choice(list("aaaab"), 40).tolist(), "c"] for _ in range(5)]
    view = SmallView(units)
    counts = count_cooccurrences(view, window=3, weighting="flat")
    plain = dense(counts).astype(float)
    keep = keep_probabilities(view.counts, 0.05)
    expected = weigh(counts, weighting="counts", keep=keep).toarray()

    pairs = np.array([
        (unit[i], unit[j])
        for unit in view.units
        for i in range(len(unit))
        for j in range(len(unit))
        if 0 < abs(i - j) <= 3
    ])  # fmt: skip
    draws = np.zeros((4000, 3, 3))
    for draw in draws:
        kept = (rng.random(pairs.shape) < keep[pairs]).all(axis=1)
        np.add.at(draw, tuple(pairs[kept].T), 1)

    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * error + 1e-9).all()
    assert (expected <= plain).all()
