"""Noise and subsampling: probabilities against the formula and by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.embed.word2vec.noise import keep_limits, noise_table

FULL = 2**32 - 1


def exact_probabilities(table):
    """Return each word's probability over all 64-bit random numbers, exactly."""
    n_words = len(table.limits)
    probabilities = [0] * n_words
    for column, (limit, other) in enumerate(zip(*map(np.ndarray.tolist, table), strict=True)):
        # upper halves h with (h * V) >> 32 == column
        n_halves = -(-(column + 1) * 2**32 // n_words) + (column * -(2**32) // n_words)
        probabilities[column] += n_halves * limit
        probabilities[other] += n_halves * (2**32 - limit)
    assert sum(probabilities) == 2**64
    return [Fraction(probability, 2**64) for probability in probabilities]


def assert_probabilities(counts, exponent):
    """Compare the table with count^exponent over its sum, within 1e-9."""
    table = noise_table(np.array(counts), exponent)
    weights = [count**exponent if count else 0.0 for count in counts]
    expected = np.array(weights) / sum(weights)
    probabilities = exact_probabilities(table)

    assert (table.limits.dtype, table.others.dtype) == (np.uint32, np.int32)
    np.testing.assert_allclose(
        [float(probability) for probability in probabilities], expected, rtol=0, atol=1e-9
    )
    assert [word for word, count in enumerate(counts) if not count and probabilities[word]] == []
    full = table.limits == FULL
    assert (table.others[full] == np.flatnonzero(full)).all()


@given(
    counts=st.lists(st.integers(0, 10**6), min_size=2, max_size=60).filter(
        lambda counts: sum(count > 0 for count in counts) >= 2
    ),
    exponent=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.75, 1.0]),
)
def test_probabilities_are_powers_of_the_count(counts, exponent):
    if sum(count > 0 for count in counts) == 2 and abs(exponent) == 1:
        counts = [*counts, 7, 7]  # else one of two words might have nearly all of the noise
    assert_probabilities(counts, exponent)


@pytest.mark.parametrize("exponent", [-0.5, 0.75])
def test_probabilities_are_exact_for_many_words_with_zipf_counts(exponent):
    ranks = np.arange(1, 30_011)
    assert_probabilities((10**8 // ranks).tolist(), exponent)


def test_a_table_worked_by_hand():
    # 3 : 1 in two columns of 2: word 1 leaves half of its column to word 0
    table = noise_table(np.array([3, 1]), 1.0)
    assert table.limits.tolist() == [FULL, 2**31]
    assert table.others.tolist() == [0, 0]


def test_columns_selected_by_fewer_numbers_are_corrected_for():
    # of 2^32 upper halves, 1431655766, 1431655765 and 1431655765 select the three columns
    counts = np.array([1, 1, 1])
    probabilities = exact_probabilities(noise_table(counts, 0.0))
    assert all(
        abs(probability - Fraction(1, 3)) < Fraction(1, 2**32) for probability in probabilities
    )


@pytest.mark.parametrize("counts", [[], [0, 0], [7], [0, 7, 0]])
def test_noise_of_fewer_than_two_words_is_refused(counts):
    with pytest.raises(SettingError, match="nearly all negative samples would be one word"):
        noise_table(np.array(counts, np.int64), 0.75)


@pytest.mark.parametrize("exponent", [40.0, -400.0, 1e300])
def test_an_exponent_that_leaves_one_word_is_refused(exponent):
    with pytest.raises(SettingError, match=r"^`unigram_exponent=.*`: nearly all negative sampl"):
        noise_table(np.array([1000, 100, 10, 1000 * 3]), exponent)


def test_counts_beyond_32_bits_are_exact():
    assert_probabilities([3 * 10**11, 10**11, 10**10], 1.0)


def test_keep_limits_follow_the_c_code():
    counts = np.array([900, 99, 1])
    limits = keep_limits(counts, 1e-2)
    assert limits.dtype == np.uint64
    expected = [np.sqrt(t) + t for t in (0.01 / 0.9, 0.01 / 0.099)]
    assert limits[:2] / 2**32 == pytest.approx(expected, abs=2**-32)
    assert limits[2] == 2**32
    # 1 % of the tokens at 1e-4: sqrt(0.01) + 0.01
    assert keep_limits(np.array([1, 99]), 1e-4)[0] == round(0.11 * 2**32)


def test_thresholds_of_0_and_from_1_on_keep_everything():
    for threshold in (0, 1.0, 5.0):
        assert keep_limits(np.array([5, 0, 3]), threshold).tolist() == [2**32] * 3
