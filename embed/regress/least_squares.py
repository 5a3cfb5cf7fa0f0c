"""Least squares of vectors on covariates, with errors by cluster and permutation tests.

The squared length of a coefficient is never below 0, and grows with its error: its expectation is
that of the true coefficient plus the variances of its dimensions, which are subtracted (Green,
Hobbs, McCabe, Stewart & Yoder 2025, "Measuring Distances in High Dimensional Spaces"). Variances
are those of clusters (Liang & Zeger 1986), such as documents: the occurrences of one are alike.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from firth.embed.resampling.jackknife import groups_of_units

_NO_VARIANCE = 1e-14  # of a covariate that is left out with a group, beside the largest
_NOTHING = 1e-9  # of the largest that a covariate adds
_AT_ONCE = 1 << 22  # numbers of permutations that are made at a time


@dataclass(frozen=True, eq=False)
class Cells:
    """Occurrences of a word, added up where cluster and covariates are the same."""

    design: np.ndarray  # float64 (U, k): covariates, of which the first is 1
    sizes: np.ndarray  # float64 (U,): occurrences
    sums: np.ndarray  # float64 (U, D): of their vectors
    clusters: np.ndarray  # int64 (U,): from 0, ascending

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.clusters[-1]) + 1

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return X'X, float64 (k, k), and X'Y, float64 (k, D)."""
        return (self.design.T * self.sizes) @ self.design, self.design.T @ self.sums


@dataclass(frozen=True, eq=False)
class Contrast:
    """A combination of coefficients, beside those of permuted covariates."""

    value: np.ndarray  # float64 (D,)
    p: float
    permuted: np.ndarray  # float64 (B, D): the combination
    rows: np.ndarray  # float64 (B, D): what is predicted for a row of the design


class Fit:
    """The least squares of vectors on covariates, and without each of some groups of clusters."""

    def __init__(self, cells: Cells, n_groups: int, seed: int) -> None:
        self.cells, self.seed = cells, seed
        products, targets = cells.moments()
        scale = np.sqrt(np.diag(products))  # else years and their products are near 0 beside others

        def inverted(products: np.ndarray) -> np.ndarray:
            scaled = products / np.outer(scale, scale)
            return np.linalg.pinv(scaled, _NO_VARIANCE, hermitian=True) / np.outer(scale, scale)

        self.inverse = inverted(products)
        self.coefficients = self.inverse @ targets  # float64 (k, D)
        n_groups = min(n_groups, cells.n_clusters)
        groups = groups_of_units(cells.n_clusters, n_groups, seed)[cells.clusters]
        inverses, coefficients = [], []
        for group in range(n_groups):
            rows = groups == group
            left = Cells(cells.design[rows], cells.sizes[rows], cells.sums[rows], groups[rows])
            less, fewer = left.moments()
            inverses.append(inverted(products - less))
            coefficients.append(inverses[-1] @ (targets - fewer))
        self.groups = groups  # uint16 (U,)
        self.draws = np.array(coefficients)  # float64 (J, k, D)
        self._inverses = np.array(inverses)

    @property
    def dim(self) -> int:
        """The dimensions of the vectors."""
        return self.coefficients.shape[1]

    def squared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return squared lengths of coefficients, those less bias, and their jackknife errors."""
        # returns float64 (k,), (k,) and (k,)
        lengths = (self.coefficients**2).sum(axis=1)
        each = np.eye(len(lengths))
        whole = lengths - self.variances(each)
        draws = (self.draws**2).sum(axis=2)
        for group, inverse in enumerate(self._inverses):
            draws[group] -= self.variances(each, group, inverse)
        return lengths, whole, jackknife_errors(draws)

    def variances(
        self, weights: np.ndarray, left_out: int = -1, inverse: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the variances of combinations of coefficients, summed over dimensions.

        Those without a group have the inverse of their own.
        """
        # weights: float64 (m, k); returns float64 (m,)
        kept = self.groups != left_out
        n, n_clusters = self.cells.sizes[kept].sum(), len(np.unique(self.cells.clusters[kept]))
        few = n_clusters / (n_clusters - 1) * (n - 1) / (n - weights.shape[1])
        solve = self.inverse if inverse is None else inverse
        influences = (self.cells.design * kept[:, None]) @ solve @ weights.T
        return few * _quadratic(self._residual_products, influences.T)

    @cached_property
    def _residual_products(self) -> Any:
        """Products of the residuals of cells of one cluster, scipy.sparse (U, U)."""
        cells = self.cells
        predicted = cells.design @ self.coefficients
        return _products(cells.sums - cells.sizes[:, None] * predicted, cells.clusters)

    def contrast(self, weights: np.ndarray, row: np.ndarray, n: int) -> Contrast:
        """Test a combination of coefficients by permuting what distinguishes cells in it.

        Under the null hypothesis, that it is 0, the residuals of the fit without it do not depend
        on what it adds to the others. That is dealt out anew to cells, and what the other
        covariates explain of it is removed (Kennedy 1995; Freedman & Lane 1983). Cells to which it
        adds nothing, such as those of other levels, have no part in that. The statistic is
        the squared length of the combination by its variance by cluster, so that cells may differ
        in size and spread (Chung & Romano 2013; DiCiccio & Romano 2017).
        """
        # weights: float64 (k,); row: float64 (k,), of the design
        cells = self.cells
        direction = self.inverse @ weights / (weights @ self.inverse @ weights)
        value = weights @ self.coefficients
        null = self.coefficients - np.outer(direction, value)
        residuals = cells.sums - cells.sizes[:, None] * (cells.design @ null)
        products = _products(residuals, cells.clusters)
        others = np.linalg.svd(weights[None])[2][1:].T  # of which the combination is 0
        design = cells.design @ others
        weighted = design * cells.sizes[:, None]
        solve = np.linalg.inv(weighted.T @ design) if design.shape[1] else np.zeros((0, 0))
        added = cells.design @ direction
        moved = np.flatnonzero(np.abs(added) > _NOTHING * np.abs(added).max())
        observed = _statistic(added[None], residuals, products)[0]
        generator = np.random.default_rng([self.seed, 1])
        permuted, rows, reached = [], [], 1
        step = max(1, _AT_ONCE // len(added))
        for first in range(0, n, step):
            dealt = np.zeros((min(step, n - first), len(added)))
            for each in dealt:
                each[moved] = generator.permutation(added[moved])
            explained = dealt @ weighted @ solve
            dealt -= explained @ design.T
            reached += int((_statistic(dealt, residuals, products) >= observed).sum())
            slopes = dealt @ residuals / ((dealt**2) @ cells.sizes)[:, None]
            permuted.append(slopes)
            at_row = row @ direction - explained @ (row @ others)
            rows.append(row @ null + at_row[:, None] * slopes)
        return Contrast(value, reached / (n + 1), np.concatenate(permuted), np.concatenate(rows))


def jackknife_errors(draws: np.ndarray) -> np.ndarray:
    """Return the standard errors of numbers from those without each group, float64 (...)."""
    # draws: float64 (J, ...)
    n = len(draws)
    return np.asarray(np.sqrt((n - 1) / n * ((draws - draws.mean(axis=0)) ** 2).sum(axis=0)))


def _products(rows: np.ndarray, clusters: np.ndarray) -> Any:
    """Return the inner products of rows of one cluster, scipy.sparse (U, U)."""
    # rows: float64 (U, D); clusters: int64 (U,), ascending
    from scipy.sparse import block_diag

    bounds = np.flatnonzero(np.diff(clusters, prepend=-1, append=clusters[-1] + 1))
    if len(bounds) == len(rows) + 1:
        from scipy.sparse import diags_array

        return diags_array((rows**2).sum(axis=1)).tocsr()
    parts = [rows[slice(*ends)] for ends in pairwise(bounds)]
    return block_diag([part @ part.T for part in parts], format="csr")


def _quadratic(products: Any, weights: np.ndarray) -> np.ndarray:
    """Return w' P w for each row w, float64 (n,)."""
    return np.einsum("ij,ij->i", weights, (products @ weights.T).T)


def _statistic(added: np.ndarray, residuals: np.ndarray, products: Any) -> np.ndarray:
    """Return squared lengths of combinations by their variances, float64 (n,)."""
    # added: float64 (n, U)
    lengths = ((added @ residuals) ** 2).sum(axis=1)
    return np.asarray(lengths / np.maximum(_quadratic(products, added), 1e-300))
