"""A space for each period, turned onto the first one by orthogonal Procrustes.

Hamilton, Leskovec & Jurafsky 2016, "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
Change", section 3; the rotation is that of Schoenemann 1966.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from firth.embed.align.mapping import procrustes
from firth.embed.vectors.search import unit_length


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
