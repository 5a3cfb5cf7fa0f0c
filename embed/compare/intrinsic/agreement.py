"""Agreement of two runs on the same words: neighbor overlap and Procrustes distance."""

import numpy as np

from firth.embed.compare.intrinsic.geometry import FunctionOfMeans
from firth.embed.vectors.search import unit_length


def neighbor_overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of two runs' neighbors of each word.

    As in Antoniak & Mimno 2018, "Evaluating the stability of embedding-based word similarities".
    For k neighbors, m of them shared, it is m / (2k - m); Hellrich & Hahn 2016, "Bad company", and
    Wendlandt et al. 2018, "Factors influencing the surprising instability of word embeddings",
    use m / k.
    """
    # a, b: bool (n, n); returns float64 (n,)
    return np.asarray((a & b).sum(axis=1) / (a | b).sum(axis=1))


def procrustes_distance(a: np.ndarray, b: np.ndarray) -> FunctionOfMeans:
    """Return the distance of two runs' vectors after optimal orthogonal alignment.

    Schoenemann 1966, "A generalized solution of the orthogonal Procrustes problem": A Q is
    closest to B for Q = U W^T, where U S W^T is the singular value decomposition of A^T B. The
    distance is |A Q - B| / |B| in the Frobenius norm: 0 if rotation makes them equal, sqrt(2) if
    alignment does not help. It equals sqrt(2 - 2 c), where c is the mean cosine of a word's two
    vectors.

    Vectors are scaled to unit length, centered, and scaled again. Otherwise the mean vectors would
    dominate the alignment, and two clouds of noise around different means would look similar.
    Missing dimensions of the narrower run count as zeros.
    """
    # a, b: float64 (n, D) and (n, E)
    a, b = (unit_length(each - each.mean(axis=0)) for each in (a, b))
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    # no zero padding needed: missing dimensions add nothing to the products
    cosines = np.einsum("ij,ij->i", a @ left, b @ right.T)
    return FunctionOfMeans(cosines[:, None], lambda mean: np.sqrt(np.maximum(2 - 2 * mean, 0)))
