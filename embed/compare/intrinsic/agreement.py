"""How much two runs agree about the same words: their neighbors, and one turned onto the other."""

import numpy as np

from embed.compare.intrinsic.geometry import OfMeans
from embed.vectors.search import unit_length


def neighbor_overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compare two runs' neighbors of each word by Jaccard's index: shared ones over all.

    Antoniak & Mimno 2018, "Evaluating the stability of embedding-based word similarities", compare
    lists of neighbors so. Of k neighbors, m of them shared, it is m / (2k - m), where Hellrich &
    Hahn 2016, "Bad company", and Wendlandt et al. 2018, "Factors influencing the surprising
    instability of word embeddings", have m / k.
    """
    # a, b: bool (n, n); returns float64 (n,)
    return np.asarray((a & b).sum(axis=1) / (a | b).sum(axis=1))


def procrustes_distance(a: np.ndarray, b: np.ndarray) -> OfMeans:
    """Tell how far two runs' vectors stay apart when one run is turned onto the other.

    Schoenemann 1966, "A generalized solution of the orthogonal Procrustes problem": of all
    orthogonal matrices, Q = U W^T brings A Q nearest to B, where U S W^T is the singular value
    decomposition of A^T B. The distance is |A Q - B| / |B| in the Frobenius norm: 0 where turning
    makes them equal, the root of 2 where nothing can be gained. It is the root of 2 - 2 c where c
    is the mean cosine of a word's two vectors, so that both would say the same.

    Vectors are taken at unit length, about their mean, and at unit length again: else what all
    vectors of a run have in common is aligned before any word is, and two clouds of noise, each
    about a point of its own, look alike. Where one run has fewer dimensions, it has zeros for the
    others.
    """
    # a, b: float64 (n, D) and (n, E)
    a, b = (unit_length(each - each.mean(axis=0)) for each in (a, b))
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    # dimensions that one run lacks add nothing to a product, so no zeros are written
    cosines = np.einsum("ij,ij->i", a @ left, b @ right.T)
    return OfMeans(cosines[:, None], lambda mean: np.sqrt(np.maximum(2 - 2 * mean, 0)))
