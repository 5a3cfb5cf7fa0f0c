"""Aligned spaces: rotations are found again."""

import numpy as np
import pytest

from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import Periods
from firth.embed.change.procrustes import align, aligned, bootstrap_errors, interval
from firth.embed.change.spaces import Training
from tests.embed.change.test_joint import V, random_text


def test_a_rotated_space_is_turned_back_on_the_shared_words():
    rng = np.random.default_rng(1)
    space = rng.standard_normal((40, 6)).astype(np.float32)
    turn, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    other = (space @ turn).astype(np.float32)
    other[30:] = rng.standard_normal((10, 6))  # not shared
    other[35] = 0
    shared = np.arange(40) < 30
    first, second = align([space, other], shared)
    np.testing.assert_allclose(first[:30], second[:30], atol=1e-5)
    assert np.abs(first[30:] - second[30:]).max() > 0.1
    assert not second[35].any()


def training(*texts):
    """Return how spaces of two periods of 20 documents are trained."""
    periods = Periods(["a", "b"], [], None, np.repeat([0, 1], 20))
    settings = ChangeConfig(route="procrustes", dim=4, threads=1)
    return Training(periods, texts, [f"w{n}" for n in range(V)], settings)


@pytest.mark.slow
def test_intervals_come_from_drawn_documents_and_repeat():
    made = training(random_text(1, 0, 20), random_text(2, 20, 20))
    shared = np.ones(V, bool)
    errors = [bootstrap_errors(made, shared, resamples=4, seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(errors[0], errors[1])
    assert (errors[0] != errors[2]).any()
    assert (errors[0] > 0).all()
    assert aligned(made.spaces(), shared).shape == (2, V, 4)
    low, high = interval(np.array([0.1, 1.0]), np.array([0.2, 0.1]))
    np.testing.assert_allclose([low, high], [[0, 0.804], [0.492, 1.196]])
