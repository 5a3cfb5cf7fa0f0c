"""Products of a sparse matrix and of tall bases with narrow blocks, on the CPU or in torch.

Algorithms run unchanged on either. Tall arrays (one row per row or column of the
matrix) stay on the device; small ones (a row or column per basis vector) are NumPy
float64 on the host.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from firth.corpora.common.threads import even_ranges, thread_count, worker_threads
from firth.embed.svd.cooccurrence_kernels import histogram
from firth.embed.svd.product_kernels import WIDTH, multiply_rows
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.transpose_kernels import transpose_columns

# Rows of one dense product. Fixed, because partial sums are added up per panel: results must
# not depend on the number of threads.
_PANEL = 4096
_WRITTEN_ENTRIES = 1 << 28  # of a transposed matrix at once, in no order: 2 GB
_CHUNK_ENTRIES = 1 << 18  # fewest entries per chunk of a sparse product: below a millisecond


class CpuOperations:
    """Operations on the CPU, bit-identical at any number of threads.

    Sparse products are summed row by row in a fixed order; dense ones over fixed
    panels of rows, one thread each, and the panels are added up in order. BLAS
    must be limited to one thread, since its results depend on its thread count.
    """

    device = "cpu"

    def __init__(self, matrix: Any, pool: ThreadPoolExecutor, scratch: Scratch) -> None:
        # matrix: scipy.sparse CSR, float32 (V, C)
        self.shape = matrix.shape
        self._scratch, self._pool = scratch, pool
        self._matrix = _CsrRows(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False).view(np.uint32),
            matrix.data,
        )
        # stored, so that both products gather
        self._transposed = _transposed(self._matrix, self.shape[1], scratch)

    def multiply(self, block: Any, *, transposed: bool = False) -> Any:
        """Return the sparse matrix, or its transpose, times a contiguous block."""
        # block: float32 (C or V, WIDTH); returns float32 (V or C, WIDTH)
        rows = self._transposed if transposed else self._matrix
        product = np.empty((len(rows.starts) - 1, WIDTH), dtype=np.float32)
        self._each(
            lambda chunk: multiply_rows(
                rows.starts, rows.columns, rows.values, block, *chunk, product
            ),
            rows.chunks,
        )
        return product

    def empty(self, rows: int, columns: int) -> Any:
        """Allocate a basis, uninitialized."""
        # returns float32 (rows, columns)
        return self._scratch.empty((rows, columns), np.float32)

    def load(self, array: np.ndarray) -> Any:
        """Copy a float32 array to the device: return it itself if it is contiguous."""
        return np.ascontiguousarray(array)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy a float32 array to the host: return it itself."""
        return np.asarray(array)

    def cross(self, basis: Any, block: Any) -> np.ndarray:
        """Return basis^T @ block, summed in float32 within a panel and in float64 over panels."""
        # basis: float32 (n, m); block: float32 (n, b); returns float64 (m, b)
        total = np.zeros((basis.shape[1], block.shape[1]))
        for part in self._pool.map(lambda p: basis[p].T @ block[p], _panels(len(block))):
            total += part
        return total

    def subtract(self, block: Any, basis: Any, coefficients: np.ndarray) -> None:
        """Subtract basis @ coefficients from the block in place."""
        # block: float32 (n, b); basis: float32 (n, m); coefficients: float64 (m, b)
        factors = coefficients.astype(np.float32)

        def panel(rows: slice) -> None:
            block[rows] -= basis[rows] @ factors

        self._each(panel, _panels(len(block)))

    def combine(self, basis: Any, coefficients: np.ndarray) -> Any:
        """Return basis @ coefficients as a new contiguous array."""
        # basis: float32 (n, m); coefficients: float64 (m, k); returns float32 (n, k)
        factors = np.ascontiguousarray(coefficients, dtype=np.float32)
        result = np.empty((len(basis), factors.shape[1]), dtype=np.float32)
        self._each(
            lambda rows: np.matmul(basis[rows], factors, out=result[rows]), _panels(len(basis))
        )
        return result

    def _each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> None:
        """Call a function that releases the GIL with each item, in threads."""
        for _ in self._pool.map(function, items):
            pass


@contextlib.contextmanager
def cpu_operations(
    matrix: Any, threads: int | None = None, scratch: Scratch | None = None
) -> Iterator[CpuOperations]:
    """Yield operations on the CPU, whose threads end with the block."""
    with worker_threads(thread_count(threads)) as pool:
        yield CpuOperations(matrix, pool, scratch or Scratch())


class _CsrRows:
    """A CSR matrix in the types of the kernel, its rows split into chunks of similar work."""

    def __init__(self, starts: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        # int64 (V + 1,), uint32 (n,), float32 (n,)
        self.starts, self.columns, self.values = starts, columns, values
        work = np.diff(starts) + 4  # an empty row has a cost, too
        self.chunks = even_ranges(work, max(_CHUNK_ENTRIES, work.sum(dtype=np.int64) / 128))


def _transposed(matrix: _CsrRows, n_columns: int, scratch: Scratch) -> _CsrRows:
    """Transpose a matrix, reading it once for each part of the result that is written."""
    counts = np.zeros(n_columns, np.int64)
    histogram(matrix.columns, 0, len(matrix.columns), counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = scratch.empty((len(matrix.columns),), np.uint32)
    values = scratch.empty((len(matrix.columns),), np.float32)
    places = starts[:-1].copy()
    for first, last in even_ranges(counts + 1, _WRITTEN_ENTRIES):
        transpose_columns(
            matrix.starts, matrix.columns, matrix.values, first, last, places, rows, values
        )
    return _CsrRows(starts, rows, values)


def _panels(rows: int) -> list[slice]:
    """Split a tall array into panels."""
    return [slice(first, min(first + _PANEL, rows)) for first in range(0, rows, _PANEL)]


def as_float32_csr(matrix: Any) -> Any:
    """Return the matrix as float32 CSR without duplicate entries; may share its memory."""
    # matrix: scipy.sparse array or matrix (V, C); returns scipy.sparse.csr_array
    rows = sp.csr_array(matrix, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
