"""Untrained baselines: one-hot and random vectors."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.corpora.common.hashing import STRIDE, mix
from firth.embed.vectors.word_vectors import WordVectors

_BLOCK_FLOATS = 1 << 20


def one_hot(vocabulary: Sequence[str], *, text: Any = None) -> WordVectors:
    """Return one-hot vectors: each word has its own dimension."""
    import scipy.sparse

    matrix = scipy.sparse.identity(len(vocabulary), dtype=np.float32, format="csr")
    return WordVectors(vocabulary, matrix, text=text, name="one-hot")


def random_vectors(
    vocabulary: Sequence[str], dim: int, seed: int, *, text: Any = None
) -> WordVectors:
    """Draw each vector from a standard normal distribution.

    The draw is keyed by (seed, word), so that a word's vector depends neither
    on the other words nor on their order.
    """
    key = seed.to_bytes(8, "little")
    hashes = [
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for word in vocabulary
    ]
    keys = np.frombuffer(b"".join(hashes), "<u8")
    matrix = np.empty((len(keys), dim), np.float32)
    step = max(1, _BLOCK_FLOATS // dim)
    for start in range(0, len(keys), step):
        matrix[start : start + step] = _normal(keys[start : start + step], dim)
    return WordVectors(vocabulary, matrix, text=text, name="random")


def _normal(keys: np.ndarray, dim: int) -> np.ndarray:
    """Return normal deviates (n, D), by Box-Muller from one uniform stream per key."""
    half = (dim + 1) // 2
    counters = np.arange(2 * half, dtype=np.uint64) * STRIDE
    # 53 random bits plus half a step, so that the logarithm is finite
    uniform = ((mix(keys[:, None] + counters) >> np.uint64(11)) + 0.5) * 2.0**-53
    radius = np.sqrt(-2.0 * np.log(uniform[:, :half]))
    angle = 2.0 * np.pi * uniform[:, half:]
    return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)), axis=1)[:, :dim]
