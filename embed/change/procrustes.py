"""A space for each period, turned onto the first one by orthogonal Procrustes.

Hamilton, Leskovec & Jurafsky 2016, "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
Change", section 3; the rotation is that of Schoenemann 1966.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from firth.embed.align.mapping import procrustes
from firth.embed.vectors.search import unit_length

_NORMAL = 1.96  # of a 95 % interval


def aligned(spaces: Sequence[np.ndarray], shared: np.ndarray) -> np.ndarray:
    """Return all spaces, aligned to the first by the shared words that all have."""
    # spaces: float32 (n_words, D) each; shared: bool (n_words,); returns float32 (K, n_words, D)
    return np.stack(list(align(spaces, shared & have_vectors(spaces))))


def have_vectors(spaces: Sequence[np.ndarray]) -> np.ndarray:
    """Return which words have a vector in every space, bool (n_words,)."""
    return np.logical_and.reduce([space.any(axis=1) for space in spaces])


def align(spaces: Sequence[np.ndarray], shared: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the first space and the others, rotated onto it.

    Vectors are scaled to unit length, centered on the mean of the shared words, and scaled again.
    """
    # spaces: float32 (V, D) each; shared: bool (V,); yields float32 (V, D)
    prepared = [_prepared(space, shared) for space in spaces]
    yield prepared[0].astype(np.float32)
    for other in prepared[1:]:
        turn = procrustes(other[shared], prepared[0][shared])
        yield (other @ turn).astype(np.float32)


def _prepared(space: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Return centered unit vectors, float64 (V, D); zero vectors stay zero."""
    units = unit_length(space.astype(np.float64))
    centered = np.where(units.any(axis=1, keepdims=True), units - units[shared].mean(axis=0), 0.0)
    return np.asarray(unit_length(centered))


def interval(distance: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of 95 % intervals of distances, which are between 0 and 2."""
    return np.maximum(distance - _NORMAL * error, 0.0), np.minimum(distance + _NORMAL * error, 2.0)
