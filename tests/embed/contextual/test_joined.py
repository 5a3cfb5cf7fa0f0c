"""Joined vectors: what is subtracted from states, by the number of pieces."""

import numpy as np

from firth.embed.contextual.joined import SHARE, centers_of, joined

N_PIECES = np.repeat([1, 2, 3, 4, 7], [20, 10, 2, 6, 6])
STATES = np.random.default_rng(3).standard_normal((len(N_PIECES), 5)).astype(np.float32) + 1


def test_states_lose_the_mean_of_words_of_as_many_pieces():
    centers = centers_of(STATES, N_PIECES)
    parts = STATES[:20], STATES[20:30], STATES, STATES[32:]  # only two words have three pieces
    np.testing.assert_allclose(centers, [part.mean(axis=0) for part in parts], atol=1e-6)


def test_two_words_of_three_pieces_are_not_made_opposites():
    static = np.full((len(STATES), 2), 4, np.float32)
    vectors = joined(static, STATES, N_PIECES, centers_of(STATES, N_PIECES))
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :2], axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 2:], axis=1), SHARE, atol=1e-6)
    a, b = vectors[30:32, 2:] / SHARE
    assert a @ b > -0.99
