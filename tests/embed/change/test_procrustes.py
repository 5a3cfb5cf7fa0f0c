"""Aligned spaces: rotations are found again."""

import numpy as np

from firth.embed.change.spaces import align


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
