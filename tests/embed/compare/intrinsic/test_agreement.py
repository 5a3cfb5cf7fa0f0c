"""Agreement of two runs: Jaccard index of neighbors, Procrustes distance against scipy."""

import math

import numpy as np
import pytest
import scipy.linalg

from firth.embed.compare.intrinsic.geometry import (
    neighbor_overlap,
    neighborhoods,
    procrustes_distance,
)
from firth.embed.vectors.search import unit_length


def directions(n_words, dim, seed):
    """Random unit vectors."""
    return unit_length(np.random.default_rng(seed).normal(size=(n_words, dim)))


def distance(a, b):
    """Return the distance with every count 1."""
    return procrustes_distance(a, b).evaluate(np.ones((1, len(a)), np.uint8))[0]


def centered(vectors):
    """Return centered vectors at unit length."""
    moved = vectors - vectors.mean(axis=0)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def test_neighbor_overlap_is_the_jaccard_index():
    a, b = (neighborhoods(directions(60, 8, seed), 10) for seed in (1, 2))

    found = neighbor_overlap(a, b)

    sets = [[set(np.flatnonzero(row).tolist()) for row in near] for near in (a, b)]
    assert found.tolist() == [len(x & y) / len(x | y) for x, y in zip(*sets, strict=True)]
    assert neighbor_overlap(a, a).tolist() == [1.0] * 60


def test_procrustes_distance_matches_scipy():
    b = unit_length(directions(80, 7, 4) + 0.3)
    a = unit_length(directions(80, 7, 3) + b)  # shared structure
    turn, _ = scipy.linalg.orthogonal_procrustes(centered(a), centered(b))

    left = np.linalg.norm(centered(a) @ turn - centered(b)) / np.linalg.norm(centered(b))

    assert distance(a, b) == pytest.approx(left, abs=1e-12)


def test_missing_dimensions_count_as_zeros():
    a, b = directions(90, 4, 5), directions(90, 9, 6)
    padded = np.pad(a, ((0, 0), (0, 5)))
    turn, _ = scipy.linalg.orthogonal_procrustes(centered(padded), centered(b))
    left = np.linalg.norm(centered(padded) @ turn - centered(b)) / math.sqrt(90)

    assert distance(a, b) == pytest.approx(left, abs=1e-12)
    assert distance(b, a) == pytest.approx(left, abs=1e-12)


def test_rotation_and_reflection_give_distance_zero():
    a = directions(100, 6, 7)
    turn, _ = np.linalg.qr(np.random.default_rng(8).normal(size=(6, 6)))
    turn[:, 0] *= -1

    # the square root of the rounding error of 2 - 2
    assert distance(a, a @ turn) < 1e-7


def test_distance_of_a_draw_is_the_root_mean_square_over_words():
    a, b = directions(50, 5, 11), directions(50, 5, 12)
    statistic = procrustes_distance(a, b)
    words = np.eye(50, dtype=np.uint8)

    single = statistic.evaluate(words)
    counts = np.random.default_rng(13).multinomial(50, np.full(50, 1 / 50), size=20)

    expected = np.sqrt((counts * single**2).sum(axis=1) / 50)
    np.testing.assert_allclose(statistic.evaluate(counts), expected, rtol=0, atol=1e-12)
