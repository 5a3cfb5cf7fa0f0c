"""Joined vectors: what a word is in any text, and what its contexts expect in its place.

The first part is a vector without context, the second the mean state of the masked word, which
says what else could stand there.
"""

import numpy as np

from firth.embed.vectors.search import unit_length

SHARE = 0.7  # length of the second part, the first having 1: measured, docs/methods/mlm.md
_GROUPS = 4  # words of 1, 2, 3, and of 4 or more pieces
_FEWEST = 10  # words of a group with a mean of its own: less it, two words would be opposites


def centers_of(states: np.ndarray, n_pieces: np.ndarray) -> np.ndarray:
    """Return the mean state of words of 1, 2, 3, and of 4 or more pieces.

    Otherwise words would be similar for being cut alike. A group of fewer than ten words has the
    mean of all.
    """
    # states: float32 (V, D); n_pieces: int64 (V,); returns float32 (4, D)
    groups = _groups(n_pieces)
    every = states.mean(axis=0, dtype=np.float64)
    means = []
    for group in range(_GROUPS):
        of_group = groups == group  # not states[of_group], which may be a copy of nearly all
        if np.count_nonzero(of_group) >= _FEWEST:
            means.append(states.mean(axis=0, dtype=np.float64, where=of_group[:, None]))
        else:
            means.append(every)
    return np.array(means, dtype=np.float32)


def joined(
    static: np.ndarray, states: np.ndarray, n_pieces: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """Return vectors without context beside states, less their centers; of fixed lengths."""
    # static: float32 (n, S); states: float32 (n, D); n_pieces: int64 (n,); centers: float32 (4, D)
    # returns float32 (n, S + D)
    parts = unit_length(static), SHARE * unit_length(states - centers[_groups(n_pieces)])
    return np.concatenate(parts, axis=1).astype(np.float32, copy=False)


def _groups(n_pieces: np.ndarray) -> np.ndarray:
    """Return the group of each number of pieces, from 0."""
    return np.asarray(np.minimum(n_pieces, _GROUPS) - 1)
