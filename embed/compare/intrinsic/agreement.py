"""Agreement of two runs on the same words: neighbor overlap and Procrustes distance."""

import numpy as np

from firth.embed.compare.intrinsic.geometry import FunctionOfMeans
from firth.embed.vectors.search import unit_length


def neighbor_overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of two runs' neighbors of each word (Antoniak & Mimno 2018)."""
    # a, b: bool (n, n); returns float64 (n,)
    return np.asarray((a & b).sum(axis=1) / (a | b).sum(axis=1))


def procrustes_distance(a: np.ndarray, b: np.ndarray) -> FunctionOfMeans:
    """Return the distance of two runs' vectors after optimal orthogonal alignment.

    Schoenemann 1966: |A Q - B| / |B| in the Frobenius norm with the best rotation Q, 0 if rotation
    makes them equal, sqrt(2) if it does not help; sqrt(2 - 2 c) for a mean cosine c of a word's two
    vectors. Vectors are centered, else two clouds of noise around different means would look
    similar.
    """
    # a, b: float64 (n, D) and (n, E)
    a, b = (unit_length(each - each.mean(axis=0)) for each in (a, b))
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    # no zero padding needed: missing dimensions add nothing to the products
    cosines = np.einsum("ij,ij->i", a @ left, b @ right.T)
    return FunctionOfMeans(cosines[:, None], lambda mean: np.sqrt(np.maximum(2 - 2 * mean, 0)))
