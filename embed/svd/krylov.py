"""Block Golub-Kahan bidiagonalization: singular values of a matrix within a Krylov space.

Golub, Luk and Overton 1981, "A Block Lanczos Method for Computing the Singular
Values and Corresponding Singular Vectors of a Matrix", ACM TOMS 7(2), with full
reorthogonalization. From a block X_1, with the sparse matrix M:

    Y_j R_j = M X_j - Y_{j-1} S_{j-1}^T        (columns of Y_j orthonormal)
    X_{j+1} S_j = M^T Y_j - X_j R_j^T          (columns of X_{j+1} orthonormal)

so that Y^T M = B X^T exactly, with B block upper bidiagonal. The singular
values of B are those of M restricted to the span of Y. Each step costs one
product with M and one with M^T, and raises by one the degree of the polynomials
in M M^T that the span contains; randomized subspace iteration keeps only the last.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.reporting import Progress
from firth.embed.svd.product_kernels import WIDTH
from firth.embed.svd.sparse_torch import Operations

# A direction smaller than this share of the largest one in its block is scaled up in two rounds:
# the Gram matrix, of float32 products, does not resolve it in one.
_RESOLVED = 1e-3
# Orthogonalization is done when a projection leaves more than this share of the block, and removes
# less than this share of what it leaves. Let the basis Q have Q^T Q = I + E. From a block B the
# projection removes Q C, C = Q^T B. What is left, scaled by its smallest singular value s, has
# Q^T (B - Q C) / s = -E C / s + rounding of u |B| / s: the first condition keeps the rounding below
# about 20 u, the second keeps E from growing from block to block. Where a block is all rounding, as
# beyond the rank of a low-rank matrix, C is longer than what is left.
_CLEAN = 0.05
_MAX_ROUNDS = 6
_CONVERGED = 1e-5  # largest relative change of any wanted value between two checks
_MAX_CHECKS = 6  # each check solves an eigenproblem of the size of the basis


@dataclass(frozen=True)
class Bidiagonal:
    """Orthonormal bases and the matrix projected onto them."""

    left: Any  # device array, float32 (V, n): the basis Y
    right: Any  # device array, float32 (C, m): the basis X
    middle: np.ndarray  # float64 (n, m): Y^T M X, and Y^T M = middle X^T
    steps: int  # steps done


def bidiagonalize(
    operations: Operations, rank: int, columns: int, seed: int, progress: Progress
) -> Bidiagonal:
    """Grow the bases until the ``rank`` largest values converge, or to ``columns`` in blocks."""
    V, C = operations.shape
    steps = -(-columns // WIDTH)
    left = _Basis(operations, V, steps * WIDTH, (seed, 0))
    right = _Basis(operations, C, (steps + 1) * WIDTH, (seed, 1))
    B = np.zeros((left.capacity, right.capacity))
    # M^T times random columns: half a step ahead of random x, and columns without entries stay zero
    x, _ = right.add(operations.multiply(left.random_block(), transposed=True))
    y: Any = None
    S = np.empty(0)
    converged = _ConvergenceCheck(rank, steps)
    for step in range(steps):
        current, following = _block(step), _block(step + 1)
        complete = right.is_full  # every column will have been multiplied after this step
        z = operations.multiply(x)
        if step:
            operations.subtract(z, y, S.T)
        y, R = left.add(z)
        z = operations.multiply(y, transposed=True)
        operations.subtract(z, x, R.T)
        x, S = right.add(z)
        B[current, current], B[current, following] = R, S.T
        progress(step + 1, steps)
        if complete or left.is_full or converged(step + 1, B[: current.stop, : following.stop]):
            break
    rows, columns = _nonzero_columns(left), _nonzero_columns(right)
    return Bidiagonal(
        left.columns[:, rows], right.columns[:, columns], B[rows][:, columns], step + 1
    )


def _block(number: int) -> slice:
    """Return the basis columns of a block."""
    return slice(number * WIDTH, (number + 1) * WIDTH)


class _ConvergenceCheck:
    """Checks every few steps whether the wanted singular values have stopped changing."""

    def __init__(self, rank: int, steps: int) -> None:
        self._rank = rank
        self._stride = max(2, -(-steps // _MAX_CHECKS))
        self._previous = np.full(rank, np.inf)

    def __call__(self, step: int, middle: np.ndarray) -> bool:
        if step % self._stride or len(middle) < self._rank:
            return False
        squares = np.linalg.eigvalsh(middle @ middle.T)[::-1][: self._rank]
        values = np.sqrt(np.maximum(squares, 0))
        change = np.abs(values - self._previous)
        self._previous = values
        return bool((change <= _CONVERGED * values + 1e-7 * values[0]).all())


class _Basis:
    """Orthonormal columns of one side, grown one block at a time."""

    def __init__(
        self, operations: Operations, rows: int, capacity: int, seed: tuple[int, int]
    ) -> None:
        self.capacity = capacity
        self.used = 0
        self.zero_columns: list[int] = []  # left zero because the space is exhausted
        self.columns = operations.empty(rows, capacity)
        self._rows = rows
        self._operations = operations
        self._random = np.random.default_rng(seed)

    @property
    def is_full(self) -> bool:
        """Whether the basis spans the whole space."""
        return self.used - len(self.zero_columns) >= self._rows

    def random_block(self) -> Any:
        """Return random columns with norms of about one."""
        block = self._random.standard_normal((self._rows, WIDTH), dtype=np.float32)
        return self._operations.load(block / np.float32(np.sqrt(self._rows)))

    def add(self, block: Any) -> tuple[Any, np.ndarray]:
        """Append the part of a block orthogonal to the basis, as Q; return Q and R, part = Q R."""
        Q, R, lost = self._orthonormal(block)
        if lost.any():
            R[lost] = 0
            self._fill(Q, np.flatnonzero(lost))
        self.columns[:, self.used : self.used + WIDTH] = Q
        self.used += WIDTH
        return Q, R

    def _orthonormal(self, block: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return orthonormal columns orthogonal to the basis, R, and which columns vanished.

        Uses eigenvectors of the Gram matrix (Stathopoulos and Wu 2002), in rounds.
        """
        R = np.eye(WIDTH)
        clean = False
        norm = float(np.sqrt(np.diag(self._operations.cross(block, block)).max()))  # of a column
        for _ in range(_MAX_ROUNDS):
            removed = 0.0 if clean else self._project(block)
            squares, U = np.linalg.eigh(self._operations.cross(block, block))
            if squares[-1] <= 0:
                return block, R, np.ones(WIDTH, dtype=bool)
            scales = np.sqrt(np.maximum(squares, _RESOLVED**2 * squares[-1]))
            block = self._operations.combine(block, U / scales)
            R = scales[:, None] * U.T @ R
            if clean and squares[0] > 0.5:
                break
            clean = scales[0] > _CLEAN * norm and removed <= _CLEAN * scales[0]
            norm = 1.0  # the block has just been scaled
        return block, R, squares < 0.25

    def _project(self, block: Any) -> float:
        """Subtract the projection onto the basis; return its Frobenius norm."""
        if not self.used:
            return 0.0
        basis = self.columns[:, : self.used]
        coefficients = self._operations.cross(basis, block)
        self._operations.subtract(block, basis, coefficients)
        return float(np.linalg.norm(coefficients))

    def _fill(self, Q: Any, lost: np.ndarray) -> None:
        """Replace vanished columns with random directions orthogonal to everything else.

        Columns vanish when the space reached is invariant under the matrix, as when the matrix
        has low rank or repeated singular values.
        """
        fresh = self.random_block()
        Q[:, lost.tolist()] = 0
        for _ in range(3):
            self._project(fresh)
            self._operations.subtract(fresh, Q, self._operations.cross(Q, fresh))
            squares, U = np.linalg.eigh(self._operations.cross(fresh, fresh))
            nonzero = squares > 1e-6 * max(1e-6, squares[-1])
            scales = np.where(nonzero, 1 / np.sqrt(np.where(nonzero, squares, 1)), 0)
            fresh = self._operations.combine(fresh, U * scales)
        n_filled = min(len(lost), int(np.count_nonzero(nonzero)))
        if n_filled:  # eigh sorts ascending: the last columns had the largest remainder
            Q[:, lost[:n_filled].tolist()] = fresh[:, WIDTH - n_filled :]
        self.zero_columns.extend((self.used + lost[n_filled:]).tolist())


def _nonzero_columns(basis: _Basis) -> Any:
    """Return the nonzero columns, as a slice (so a view, no copy) where possible."""
    if not basis.zero_columns:
        return slice(0, basis.used)
    return np.setdiff1d(np.arange(basis.used), basis.zero_columns).tolist()
