"""The largest singular values and vectors of a sparse matrix, repeatably."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.common.console import Progress, no_progress
from corpora.common.device import choose_device
from corpora.common.errors import SettingError
from corpora.common.threads import thread_count
from embed.svd.krylov import bidiagonalize
from embed.svd.sparse_products import CpuOperations, Operations, as_float32_csr
from embed.svd.sparse_torch import TorchOperations

# The basis holds this many columns per singular value, and no fewer than this many beyond
# them: on the PPMI matrix of AA at 300 values that captures 99.95 % of what the best would.
_COLUMNS_PER_VALUE = 3
_SPARE_COLUMNS = 384
_DENSE_ENTRIES = 1 << 22  # a matrix no larger, and hardly larger than the basis, goes to LAPACK
_PIECE = 1 << 20  # entries squared at a time


@dataclass(frozen=True)
class TruncatedSvd:
    """The best approximation of given rank that was found, left diag(values) right^T."""

    # float32 (V, k): left singular vectors in columns, orthonormal; the largest entry by absolute
    # value of each is positive
    left: np.ndarray
    values: np.ndarray  # float64 (k,): singular values, descending
    right: np.ndarray  # float32 (C, k): right singular vectors in columns, orthonormal
    # sum of the squares of ``values``: how much of ``total`` the approximation holds
    captured: float
    total: float  # sum of the squares of the matrix
    steps: int  # steps of the block Krylov method; 0 where LAPACK took the whole matrix
    basis: int  # columns of the left Krylov basis, or the smaller side of the matrix
    device: str  # where it was computed: ``cpu`` or ``cuda``


def truncated_svd(
    matrix: Any,
    rank: int,
    *,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress = no_progress,
) -> TruncatedSvd:
    """Find the largest singular values and vectors of a sparse matrix.

    A block Krylov method (see :mod:`embed.svd.krylov`) runs until the values
    have settled to a relative change of 1e-5, or its basis holds three columns
    per value; a small matrix goes to LAPACK as it is. On the CPU the result is
    bit-identical at any ``threads``, given one machine and one NumPy. While it
    runs, BLAS is held to one thread in this process.

    Peak memory besides the matrix: its transpose (8 bytes per non-zero), two
    bases and the result, or 4 (V + C) (4 rank + 100) bytes, about: 0.7 GB at
    50,000 x 50,000, 23M non-zeros and rank 300.
    """
    # matrix: scipy.sparse CSR array or matrix, float32 (V, C)
    from threadpoolctl import threadpool_limits

    _check(matrix, rank, seed, threads)
    device = choose_device(device)
    rows = as_float32_csr(matrix)
    rows, unit, total = _normalized(rows)
    with threadpool_limits(1, user_api="blas"):
        columns = _basis_columns(rows.shape, rank)
        if columns == min(rows.shape) and rows.shape[0] * rows.shape[1] <= _DENSE_ENTRIES:
            left, values, right = _dense(rows, rank)
            steps, device = 0, "cpu"
        elif device == "cpu":
            with CpuOperations(rows, thread_count(threads)) as operations:
                left, values, right, steps, columns = _krylov(
                    operations, rank, columns, seed, progress
                )
        else:
            left, values, right, steps, columns = _krylov(
                TorchOperations(rows, device), rank, columns, seed, progress
            )
    _fix_signs(left, right)
    values = values * unit
    captured = min(float(np.square(values).sum()), total)
    return TruncatedSvd(left, values, right, captured, total, steps, columns, device)


def _check(matrix: Any, rank: int, seed: int, threads: int | None) -> None:
    """Refuse what cannot be done."""
    V, C = matrix.shape
    if not min(V, C):
        raise SettingError(f"svd: the matrix is empty: {V} x {C}; there is nothing to factor")
    if rank < 1:
        raise SettingError(f"svd: rank must be at least 1, got {rank}")
    if rank > min(V, C):
        raise SettingError(
            f"svd: rank {rank} is more than a matrix of {V} x {C} has; ask for {min(V, C)} or fewer"
        )
    if seed < 0:
        raise SettingError(f"svd: seed must be at least 0, got {seed}")
    if threads is not None and threads < 1:
        raise SettingError(f"svd: threads must be at least 1, got {threads}")


def _basis_columns(shape: tuple[int, int], rank: int) -> int:
    """Columns at which the basis is large enough."""
    return min(max(_COLUMNS_PER_VALUE * rank, rank + _SPARE_COLUMNS), *shape)


def _normalized(rows: Any) -> tuple[Any, float, float]:
    """The matrix in units in which float32 holds the squares of its products; unit; total."""
    total = _sum_of_squares(rows.data)
    if not np.isfinite(total):
        bad = int(np.count_nonzero(~np.isfinite(rows.data)))
        raise SettingError(
            f"svd: {bad} entries of the matrix are not finite; weigh it without them"
        )
    norm = np.sqrt(total)
    if norm == 0 or 1e-6 < norm < 1e12:
        return rows, 1.0, total
    unit = float(2.0 ** np.round(np.log2(norm)))  # a power of two: no digit is lost
    return rows * np.float32(1 / unit), unit, total


def _sum_of_squares(values: np.ndarray) -> float:
    """In float64, a piece at a time; infinite or NaN where an entry is."""
    pieces = range(0, len(values), _PIECE)
    squares = [np.square(values[i : i + _PIECE], dtype=np.float64).sum() for i in pieces]
    return float(np.sum(squares))


def _dense(rows: Any, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All of it by LAPACK, cut to the rank."""
    left, values, right = np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)
    return (
        left[:, :rank].astype(np.float32),
        values[:rank],
        np.ascontiguousarray(right[:rank].T, dtype=np.float32),
    )


def _krylov(
    operations: Operations, rank: int, columns: int, seed: int, progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Left vectors, values, right vectors, steps and columns of the basis."""
    found = bidiagonalize(operations, rank, columns, seed, progress)
    inner_left, values, inner_right = np.linalg.svd(found.middle, full_matrices=False)
    left = operations.fetch(operations.combine(found.left, inner_left[:, :rank]))
    right = operations.fetch(operations.combine(found.right, inner_right[:rank].T))
    return left, values[:rank], right, found.steps, len(found.middle)


def _fix_signs(left: np.ndarray, right: np.ndarray) -> None:
    """Turn each pair of vectors so that the left one's largest entry is positive."""
    largest = left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])]
    signs = np.where(largest < 0, np.float32(-1), np.float32(1))
    left *= signs
    right *= signs
