"""Linear maps between two spaces, from pairs of vectors: Procrustes and VecMap's steps."""

import numpy as np

from firth.embed.vectors.search import nonzero_rows, unit_length

_BLOCK = 1 << 14  # rows converted at once


def procrustes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the map with orthonormal rows that brings each row of x closest to that of y.

    Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem": with the SVD
    x'y = U S V', the map is U V'. A may have fewer dimensions than B.
    """
    # x: float64 (n, D_a); y: float64 (n, D_b), D_a <= D_b; returns float64 (D_a, D_b)
    u, _, vt = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(u @ vt)


def vecmap(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return VecMap's supervised maps of both spaces.

    Artetxe, Labaka & Agirre 2018, "Generalizing and Improving Bilingual Word Embedding Mappings
    with a Multi-Step Framework", section 3, with the choices of their program: whitening, an
    orthogonal map, re-weighting of both sides by the square root of the singular values, and
    de-whitening of each side by its own pairs. Their common space is then rotated to the axes of
    B, which changes no cosine. Directions in which no pair extends are left out.
    """
    # x, y: float64 (n, D), n >= D; returns float64 (D, D) each
    (white_x, dewhite_x), (white_y, dewhite_y) = _roots(x), _roots(y)
    u, weights, vt = np.linalg.svd(white_x @ x.T @ y @ white_y)
    root = np.sqrt(weights)
    return (
        white_x @ (u * root) @ u.T @ dewhite_x @ u @ vt,
        white_y @ (vt.T * root) @ vt @ dewhite_y,
    )


def _roots(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the powers -1/2 and 1/2 of x'x, each float64 (D, D)."""
    values, vectors = np.linalg.eigh(x.T @ x)
    some = values > values[-1] * len(values) * np.finfo(np.float64).eps
    root = np.sqrt(np.where(some, values, 1.0))
    return (vectors * (some / root)) @ vectors.T, (vectors * (some * root)) @ vectors.T


def centered(rows: np.ndarray) -> np.ndarray:
    """Subtract the mean of unit vectors, at unit length again; zero vectors stay zero."""
    # rows: float32 (V, D); returns float32 (V, D)
    some = nonzero_rows(rows)
    without_mean = rows - rows[some].mean(axis=0, dtype=np.float64)
    return np.asarray(unit_length(np.where(some[:, None], without_mean, 0.0)), np.float32)


def apply(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Multiply rows with a map, in float64."""
    # rows: float32 (V, D); by: float64 (D, E); returns float32 (V, E)
    made = np.empty((len(rows), by.shape[1]), np.float32)
    for start in range(0, len(rows), _BLOCK):
        made[start : start + _BLOCK] = rows[start : start + _BLOCK].astype(np.float64) @ by
    return made
