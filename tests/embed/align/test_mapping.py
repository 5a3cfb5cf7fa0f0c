"""The maps: against definitions written out, and planted rotations."""

import numpy as np
import pytest
import scipy.linalg

from firth.embed.align.mapping import centered, procrustes, vecmap
from tests.embed.align.planted_spaces import rotation


def random_pairs(n=200, dim=8, seed=3):
    """Return unrelated vectors with unequal directions."""
    rng = np.random.default_rng(seed)
    scale = np.linspace(1, 3, dim)
    return rng.standard_normal((n, dim)) * scale, rng.standard_normal((n, dim)) + 0.3


def naive_vecmap(x, y):
    """The steps one after the other on the data, by scipy's matrix functions."""
    root_x, root_y = (scipy.linalg.sqrtm(z.T @ z) for z in (x, y))
    white_x, white_y = x @ np.linalg.inv(root_x), y @ np.linalg.inv(root_y)
    u, s, vt = np.linalg.svd(white_x.T @ white_y)
    common_x, common_y = white_x @ u, white_y @ vt.T
    common_x, common_y = common_x @ np.diag(s**0.5), common_y @ np.diag(s**0.5)
    return common_x @ (u.T @ root_x @ u), common_y @ (vt @ root_y @ vt.T)


def test_vecmap_matches_its_steps():
    x, y = random_pairs()
    by_x, by_y = vecmap(x, y)
    naive_x, naive_y = naive_vecmap(x, y)
    # the naive space has other axes: all products between words are equal
    for ours, naive in (((x, by_x), naive_x), ((y, by_y), naive_y)):
        mapped = ours[0] @ ours[1]
        np.testing.assert_allclose(mapped @ mapped.T, naive @ naive.T, atol=1e-8)
    np.testing.assert_allclose((x @ by_x) @ (y @ by_y).T, naive_x @ naive_y.T, atol=1e-8)


def test_vecmap_of_equal_spaces_changes_nothing():
    x, _ = random_pairs()
    by_x, by_y = vecmap(x, x)
    np.testing.assert_allclose(by_x, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(by_y, np.eye(8), atol=1e-9)


def test_vecmap_leaves_out_directions_without_pairs():
    x, y = random_pairs()
    x[:, 2] = 0
    by_x, by_y = vecmap(x, y)
    assert np.isfinite(by_x).all()
    assert np.isfinite(by_y).all()
    np.testing.assert_allclose(by_x[2], 0, atol=1e-9)


def test_procrustes_is_what_scipy_finds_and_no_other_rotation_is_better():
    x, y = random_pairs()
    found = procrustes(x, y)
    np.testing.assert_allclose(found, scipy.linalg.orthogonal_procrustes(x, y)[0], atol=1e-9)
    least = np.linalg.norm(x @ found - y)
    assert all(np.linalg.norm(x @ rotation(8, seed) - y) > least for seed in range(50))


def test_procrustes_into_more_dimensions_keeps_all_products():
    x, y = random_pairs()
    found = procrustes(x[:, :5], y)
    np.testing.assert_allclose(found @ found.T, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_planted_rotation_is_recovered(noise):
    rng, by = np.random.default_rng(5), rotation(10)
    y = rng.standard_normal((1000, 10))
    x = y @ by.T + noise * rng.standard_normal(y.shape)
    # each of the 10 x 10 entries has a standard error of at most noise / sqrt(1000); six of them
    tolerance = 1e-9 + 6 * noise / np.sqrt(1000)
    np.testing.assert_allclose(procrustes(x, y), by, atol=tolerance)


def test_centering_keeps_zero_vectors_and_their_weight_out():
    rows = np.array([[1, 0], [0, 1], [0, 0]], np.float32)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(centered(rows), [[half, -half], [-half, half], [0, 0]], atol=1e-6)
