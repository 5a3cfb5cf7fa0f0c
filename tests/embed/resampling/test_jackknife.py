"""Groups of units, and what leaving each out says of chance."""

import numpy as np

from firth.embed.resampling.jackknife import groups_of_units


def deviation(without):
    """The standard deviation of a value, from those without each group."""
    return np.sqrt((len(without) - 1) * without.var(axis=0))


def test_groups_are_equally_large_and_random():
    groups = groups_of_units(1003, 10, 1)
    assert sorted(np.bincount(groups)) == [100] * 7 + [101] * 3
    other = groups_of_units(1003, 10, 2)
    assert 0.05 < (groups == other).mean() < 0.15
    assert 0.05 < (groups[1:] == groups[:-1]).mean() < 0.15
    assert groups_of_units(12, 5, 7).tolist() == [3, 2, 1, 4, 0, 2, 1, 1, 4, 3, 0, 0]


def test_deviations_have_the_variance_of_a_mean():
    values = np.random.default_rng(3).normal(size=(600, 4))
    groups = groups_of_units(600, 50, 1)
    without = np.array([values[groups != group].mean(axis=0) for group in range(50)])
    found = deviation(without)
    expected = np.array([values[groups == group].mean(axis=0) for group in range(50)])
    np.testing.assert_allclose(found, expected.std(axis=0, ddof=1) / np.sqrt(50), rtol=1e-9)
