"""Thresholds: optimal, and fit on other items than those they classify."""

import numpy as np
import pytest

from firth.embed.compare.statistics.thresholds import best_threshold, right_by_halves


@pytest.mark.parametrize("seed", range(10))
def test_no_threshold_classifies_more_items_correctly(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 7, size=15) / 7  # with ties
    positive = rng.random(15) < 0.5

    found = best_threshold(positive, values)

    every = [-1.0, *(np.unique(values) + 0.01)]
    right = [int(((values > threshold) == positive).sum()) for threshold in every]
    assert ((values > found) == positive).sum() == max(right)


def test_an_items_label_does_not_affect_its_own_prediction():
    rng = np.random.default_rng(3)
    values, positive = rng.normal(size=20), rng.random(20) < 0.5
    first = np.arange(20) % 2 == 0
    before = right_by_halves(positive, values, first)

    for item in range(20):
        other = positive.copy()
        other[item] = not other[item]
        assert right_by_halves(other, values, first)[item] == (not before[item])


def test_each_half_uses_the_threshold_of_the_other():
    values = np.array([0.1, 0.4, 0.6, 0.9, 0.55, 0.7, 0.8, 0.2])
    positive = np.array([False, False, True, True, False, True, True, False])
    first = np.arange(8) < 4

    # 0.5 of the first half, 0.625 of the second
    assert right_by_halves(positive, values, first).tolist() == [
        True, True, False, True, False, True, True, True,
    ]  # fmt: skip
