"""Truncated SVD of a sparse matrix, deterministic given the seed."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.device import choose_device
from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.svd.krylov import bidiagonalize
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.sparse_products import as_float32_csr, cpu_operations
from firth.embed.svd.sparse_torch import Operations, TorchOperations

# The basis may hold this many columns per singular value, and at least this many spare ones: on
# the PPMI matrix of enwiki2015-AA at 300 values that captures 99.95 % of what the best would.
_COLUMNS_PER_VALUE = 3
_SPARE_COLUMNS = 384
_DENSE_ENTRIES = 1 << 22  # a matrix up to this size, filled by the basis, goes to LAPACK
_CHUNK = 1 << 20  # entries squared at a time


@dataclass(frozen=True)
class TruncatedSvd:
    """Low-rank approximation, left @ diag(values) @ right^T; singular vectors are columns."""

    # float32 (V, k): left singular vectors; in each, the entry largest in absolute value is
    # positive
    left: np.ndarray
    values: np.ndarray  # float64 (k,): singular values, descending
    right: np.ndarray  # float32 (C, k): right singular vectors
    captured: float  # sum of the squares of ``values``, to be compared with ``total``
    total: float  # sum of the squares of the matrix
    steps: int  # steps of the block Krylov method; 0 if LAPACK factored the whole matrix
    basis: int  # columns of the left Krylov basis, or the smaller side of the matrix
    device: str  # where it was computed: ``cpu`` or ``cuda``


def truncated_svd(
    matrix: Any,
    rank: int,
    *,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    scratch: Scratch | None = None,
    progress: Progress = no_progress,
) -> TruncatedSvd:
    """Return the ``rank`` largest singular values and vectors of a sparse matrix.

    A block Krylov method (see :mod:`firth.embed.svd.krylov`) runs until the values
    change by less than 1e-5 between checks, or its basis is full; a small matrix
    goes to LAPACK. On the CPU the result is bit-identical at any ``threads``,
    given the same machine and NumPy. Meanwhile BLAS is limited to one thread in
    this process.

    Peak memory besides the matrix: its transpose (8 bytes per non-zero), two
    bases and the result, about 4 (V + C) (4 rank + 100) bytes: 0.7 GB at
    50,000 x 50,000, 23M non-zeros and rank 300. The transpose and the bases
    come from ``scratch``, so that on the CPU they may be on disk.
    """
    # matrix: scipy.sparse CSR array or matrix, float32 (V, C)
    from threadpoolctl import threadpool_limits

    if rank > min(matrix.shape):
        raise SettingError(
            f"svd: rank must be at most {min(matrix.shape)}, the smaller side of the "
            f"{matrix.shape[0]} x {matrix.shape[1]} matrix, got {rank}"
        )
    device = choose_device(device)
    rows = as_float32_csr(matrix)
    rows, scale, total = _rescaled(rows)
    with threadpool_limits(1, user_api="blas"):
        columns = basis_columns(rank, rows.shape)
        if is_dense(columns, rows.shape):
            left, values, right = _dense(rows, rank)
            steps, device = 0, "cpu"
        else:
            opened: AbstractContextManager[Operations] = (
                cpu_operations(rows, threads, scratch)
                if device == "cpu"
                else nullcontext(TorchOperations(rows, device))
            )
            with opened as operations:
                left, values, right, steps, columns = _krylov(
                    operations, rank, columns, seed, progress
                )
    _fix_signs(left, right)
    values = values * scale
    captured = min(float(np.square(values).sum()), total)
    return TruncatedSvd(left, values, right, captured, total, steps, columns, device)


def basis_columns(rank: int, shape: tuple[int, int]) -> int:
    """Return the most columns of the Krylov basis."""
    return min(max(_COLUMNS_PER_VALUE * rank, rank + _SPARE_COLUMNS), *shape)


def is_dense(columns: int, shape: tuple[int, int]) -> bool:
    """Return whether LAPACK factors the whole matrix."""
    return columns == min(shape) and shape[0] * shape[1] <= _DENSE_ENTRIES


def _rescaled(rows: Any) -> tuple[Any, float, float]:
    """Rescale so that squares of products fit float32; return matrix, scale, sum of squares."""
    total = _sum_of_squares(rows.data)
    norm = np.sqrt(total)
    if norm == 0 or 1e-6 < norm < 1e12:
        return rows, 1.0, total
    scale = float(2.0 ** np.round(np.log2(norm)))  # a power of two is exact
    return rows * np.float32(1 / scale), scale, total


def _sum_of_squares(values: np.ndarray) -> float:
    """Sum the squares in float64, chunk by chunk."""
    starts = range(0, len(values), _CHUNK)
    squares = [np.square(values[i : i + _CHUNK], dtype=np.float64).sum() for i in starts]
    return float(np.sum(squares))


def _dense(rows: Any, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factor the whole matrix with LAPACK, then truncate."""
    left, values, right = np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)
    return (
        left[:, :rank].astype(np.float32),
        values[:rank],
        np.ascontiguousarray(right[:rank].T, dtype=np.float32),
    )


def _krylov(
    operations: Operations, rank: int, columns: int, seed: int, progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Return left vectors, values, right vectors, steps done and columns of the basis."""
    found = bidiagonalize(operations, rank, columns, seed, progress)
    inner_left, values, inner_right = np.linalg.svd(found.middle, full_matrices=False)
    left = operations.fetch(operations.combine(found.left, inner_left[:, :rank]))
    right = operations.fetch(operations.combine(found.right, inner_right[:rank].T))
    return left, values[:rank], right, found.steps, len(found.middle)


def _fix_signs(left: np.ndarray, right: np.ndarray) -> None:
    """Flip each pair of vectors so that the largest entry of the left one is positive."""
    largest = left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])]
    signs = np.where(largest < 0, np.float32(-1), np.float32(1))
    left *= signs
    right *= signs
