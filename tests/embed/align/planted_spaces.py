"""Two spaces of which one is the other, turned, with noise."""

import numpy as np

from firth.embed.vectors.word_vectors import WordVectors


def rotation(dim, seed=7):
    """Return a random orthogonal matrix."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]


def turned(n_words=400, dim=12, noise=0.0, seed=1):
    """Return A, B and the map from A to B: B is random, A is B turned back, with noise."""
    rng = np.random.default_rng(seed)
    b, by = rng.standard_normal((n_words, dim)), rotation(dim)
    a = b @ by.T + noise * rng.standard_normal((n_words, dim))
    words = [f"w{n}" for n in range(n_words)]
    return space(words, a, "A"), space(words, b, "B"), by


def space(words, matrix, name, **about):
    """Return vectors in memory."""
    return WordVectors(words, np.asarray(matrix, np.float32), name=name, **about)
