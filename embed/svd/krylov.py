"""Block Golub-Kahan bidiagonalization: the singular part of a matrix that a Krylov space holds.

Golub, Luk and Overton 1981, "A Block Lanczos Method for Computing the Singular
Values and Corresponding Singular Vectors of a Matrix", ACM TOMS 7(2), with full
reorthogonalization. From a block X_1, with the sparse matrix M:

    Y_j R_j = M X_j - Y_{j-1} S_{j-1}^T        (columns of Y_j orthonormal)
    X_{j+1} S_j = M^T Y_j - X_j R_j^T          (columns of X_{j+1} orthonormal)

so that Y^T M = B X^T exactly, with B block upper bidiagonal. The singular
values of B are those that M has within the span of Y; each step costs one
product with M and one with M^T, and adds a degree to the polynomials in M M^T
that the span holds, where randomized subspace iteration keeps only the last.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.common.console import Progress
from embed.svd.product_kernels import WIDTH
from embed.svd.sparse_products import Operations

# A direction this much smaller than the largest one of its block is scaled up in two goes:
# the Gram matrix, of products in float32, does not resolve it in one.
_RESOLVED = 1e-3
# A projection counts as the last only if what it leaves is longer than this share of the block
# before it, and what it takes away is shorter than this share of what it leaves. Let the basis Q
# have Q^T Q = I + E. Of a block B the projection takes Q C, C = Q^T B, and leaves, scaled by its
# smallest singular value s, Q^T (B - Q C) / s = -E C / s + rounding of u |B| / s: by the first
# condition the rounding stays below some 20 u, by the second E does not grow from block to block.
# Where a block is all rounding, as behind a matrix of small rank, C is longer than what is left.
_CLEAN = 0.05
_ROUNDS = 6
_CONVERGED = 1e-5  # relative change of every value that is kept, between two checks
_CHECKS = 6  # at most, since each solves a problem of the size of the basis


@dataclass(frozen=True)
class Bidiagonal:
    """Orthonormal bases and what the matrix is between them."""

    left: Any  # device array, float32 (V, n): the basis Y
    right: Any  # device array, float32 (C, m): the basis X
    middle: np.ndarray  # float64 (n, m): Y^T M X, and Y^T M = middle X^T
    steps: int  # steps done


def bidiagonalize(
    operations: Operations, rank: int, columns: int, seed: int, progress: Progress
) -> Bidiagonal:
    """Grow bases until the largest singular values have settled, or to a given size."""
    V, C = operations.shape
    steps = -(-columns // WIDTH)
    left = _Basis(operations, V, steps * WIDTH, (seed, 0))
    right = _Basis(operations, C, (steps + 1) * WIDTH, (seed, 1))
    B = np.zeros((left.room, right.room))
    # M^T times noise: half a step ahead of noise, and columns without entries stay zero
    x, _ = right.add(operations.multiply(left.noise(), transposed=True))
    y: Any = None
    S = np.empty(0)
    settled = _Settled(rank, steps)
    for step in range(steps):
        here, following = _block(step), _block(step + 1)
        complete = right.is_full  # all of it has been multiplied once this step is done
        z = operations.multiply(x)
        if step:
            operations.subtract(z, y, S.T)
        y, R = left.add(z)
        z = operations.multiply(y, transposed=True)
        operations.subtract(z, x, R.T)
        x, S = right.add(z)
        B[here, here], B[here, following] = R, S.T
        progress(step + 1, steps)
        if complete or left.is_full or settled(step + 1, B[: here.stop, : following.stop]):
            break
    return _without_empty_columns(left, right, B, step + 1)


def _block(number: int) -> slice:
    """Columns of a basis that a block takes."""
    return slice(number * WIDTH, (number + 1) * WIDTH)


class _Settled:
    """Tells, at a few steps, whether the wanted singular values still change."""

    def __init__(self, rank: int, steps: int) -> None:
        self._rank = rank
        self._stride = max(2, -(-steps // _CHECKS))
        self._before = np.full(rank, np.inf)

    def __call__(self, step: int, middle: np.ndarray) -> bool:
        if step % self._stride or len(middle) < self._rank:
            return False
        squares = np.linalg.eigvalsh(middle @ middle.T)[::-1][: self._rank]
        values = np.sqrt(np.maximum(squares, 0))
        change = np.abs(values - self._before)
        self._before = values
        return bool((change <= _CONVERGED * values + 1e-7 * values[0]).all())


class _Basis:
    """Orthonormal columns of one side, grown by a block at a time."""

    def __init__(self, operations: Operations, rows: int, room: int, seed: tuple[int, int]) -> None:
        self.room = room
        self.used = 0
        self.empty: list[int] = []  # columns left zero, because the space is exhausted
        self.columns = operations.empty(rows, room)
        self._rows = rows
        self._operations = operations
        self._random = np.random.default_rng(seed)

    @property
    def is_full(self) -> bool:
        """Whether the basis spans the whole space."""
        return self.used - len(self.empty) >= self._rows

    def noise(self) -> Any:
        """Random columns with norms of about one."""
        noise = self._random.standard_normal((self._rows, WIDTH), dtype=np.float32)
        return self._operations.load(noise / np.float32(np.sqrt(self._rows)))

    def add(self, block: Any) -> tuple[Any, np.ndarray]:
        """Add the part of a block that is new; give it as Q and R with Q R = that part."""
        Q, R, lost = self._orthonormal(block)
        if lost.any():
            R[lost] = 0
            self._fill(Q, np.flatnonzero(lost))
        self.columns[:, self.used : self.used + WIDTH] = Q
        self.used += WIDTH
        return Q, R

    def _orthonormal(self, block: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Columns orthonormal and orthogonal to the basis, R, and which columns came to nothing.

        By eigenvectors of the Gram matrix (Stathopoulos and Wu 2002), in rounds.
        """
        R = np.eye(WIDTH)
        clean = False
        norm = _largest_norm(self._operations.cross(block, block))
        for _ in range(_ROUNDS):
            taken = 0.0 if clean else self._project(block)
            squares, U = np.linalg.eigh(self._operations.cross(block, block))
            if squares[-1] <= 0:
                return block, R, np.ones(WIDTH, dtype=bool)
            scales = np.sqrt(np.maximum(squares, _RESOLVED**2 * squares[-1]))
            block = self._operations.combine(block, U / scales)
            R = scales[:, None] * U.T @ R
            if clean and squares[0] > 0.5:
                break
            clean = scales[0] > _CLEAN * norm and taken <= _CLEAN * scales[0]
            norm = 1.0  # from now on
        return block, R, squares < 0.25

    def _project(self, block: Any) -> float:
        """Take away what the basis holds; give its Frobenius norm."""
        if not self.used:
            return 0.0
        held = self.columns[:, : self.used]
        coefficients = self._operations.cross(held, block)
        self._operations.subtract(block, held, coefficients)
        return float(np.linalg.norm(coefficients))

    def _fill(self, Q: Any, lost: np.ndarray) -> None:
        """Put random directions, coupled to nothing, where a block has fewer than it should.

        This happens when the space reached is closed under the matrix, as when its rank is
        small or its singular values are repeated.
        """
        fresh = self.noise()
        Q[:, lost.tolist()] = 0
        for _ in range(3):
            self._project(fresh)
            self._operations.subtract(fresh, Q, self._operations.cross(Q, fresh))
            squares, U = np.linalg.eigh(self._operations.cross(fresh, fresh))
            alive = squares > 1e-6 * max(1e-6, squares[-1])
            scales = np.where(alive, 1 / np.sqrt(np.where(alive, squares, 1)), 0)
            fresh = self._operations.combine(fresh, U * scales)
        room = min(len(lost), int(np.count_nonzero(alive)))
        if room:  # the last columns are those that had most left
            Q[:, lost[:room].tolist()] = fresh[:, WIDTH - room :]
        self.empty.extend((self.used + lost[room:]).tolist())


def _largest_norm(gram: np.ndarray) -> float:
    """Norm of the longest column, from the Gram matrix."""
    return float(np.sqrt(np.max(np.diag(gram))))


def _without_empty_columns(left: _Basis, right: _Basis, B: np.ndarray, steps: int) -> Bidiagonal:
    """The bases and the matrix between them, without columns that hold nothing."""
    rows, columns = (_kept(basis) for basis in (left, right))
    return Bidiagonal(left.columns[:, rows], right.columns[:, columns], B[rows][:, columns], steps)


def _kept(basis: _Basis) -> Any:
    """The columns in use, as a slice (a view, no copy) unless some are empty."""
    if not basis.empty:
        return slice(0, basis.used)
    return np.setdiff1d(np.arange(basis.used), basis.empty).tolist()
