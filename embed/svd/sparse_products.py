"""Products of a sparse matrix and of tall bases with narrow blocks, on the CPU or by torch.

An algorithm written over :class:`Operations` runs unchanged on either. Tall
arrays (one row per row or column of the matrix) live with the operations;
small ones (a row and a column per basis vector) are NumPy float64 on the host.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from corpora.common.threads import even_ranges, thread_count
from embed.svd.product_kernels import WIDTH, multiply_rows

# Rows of one dense product. Fixed, because partial sums are added up per panel: the
# machine's number of threads may not decide where a sum is cut.
_PANEL = 4096
_PIECE_ENTRIES = 1 << 18  # least work of one sparse piece: below a millisecond


class Operations(Protocol):
    """What a block Krylov method needs of a matrix and of the device it lies on."""

    device: str
    shape: tuple[int, int]

    def multiply(self, block: Any, *, transposed: bool = False) -> Any:
        """Give the sparse matrix, or its transpose, times a block."""
        # block: float32 (C or V, WIDTH); returns float32 (V or C, WIDTH)

    def empty(self, rows: int, columns: int) -> Any:
        """Give room for a basis."""
        # returns float32 (rows, columns)

    def load(self, array: np.ndarray) -> Any:
        """Bring an array to the device."""
        # array: float32 (n, m); returns float32 (n, m)

    def fetch(self, array: Any) -> np.ndarray:
        """Bring an array to the host."""
        # array: float32 (n, m); returns float32 (n, m)

    def cross(self, basis: Any, block: Any) -> np.ndarray:
        """Give basis^T block."""
        # basis: float32 (n, m); block: float32 (n, b); returns float64 (m, b)

    def subtract(self, block: Any, basis: Any, coefficients: np.ndarray) -> None:
        """Take basis coefficients away from the block, in place."""
        # block: float32 (n, b); basis: float32 (n, m); coefficients: float64 (m, b)

    def combine(self, basis: Any, coefficients: np.ndarray) -> Any:
        """Give basis coefficients as a new array."""
        # basis: float32 (n, m); coefficients: float64 (m, k); returns float32 (n, k)


class CpuOperations(Operations):
    """Operations in threads of this process, bit-identical at any number of them.

    Sparse products are computed row by row in a fixed order of summation; dense
    ones over fixed panels of rows, each by one thread, the panels added up in
    order. BLAS must itself be held to one thread: a product that it shares out
    depends on how many share. To be used as a context manager.
    """

    def __init__(self, matrix: Any, threads: int | None = None) -> None:
        # matrix: scipy.sparse CSR, float32 (V, C)
        self.device = "cpu"
        self.shape = matrix.shape
        self._matrix = _Rows(matrix)
        self._transposed = _Rows(matrix.T.tocsr())
        self._pool = ThreadPoolExecutor(thread_count(threads))

    def __enter__(self) -> "CpuOperations":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def multiply(self, block: Any, *, transposed: bool = False) -> Any:
        """Give the sparse matrix, or its transpose, times a block."""
        rows = self._transposed if transposed else self._matrix
        product = np.empty((len(rows.starts) - 1, WIDTH), dtype=np.float32)
        self._each(
            lambda piece: multiply_rows(
                rows.starts, rows.columns, rows.values, block, *piece, product
            ),
            rows.pieces,
        )
        return product

    def empty(self, rows: int, columns: int) -> Any:
        """Give room for a basis."""
        return np.empty((rows, columns), dtype=np.float32)

    def load(self, array: np.ndarray) -> Any:
        """Give the array itself."""
        return np.ascontiguousarray(array)

    def fetch(self, array: Any) -> np.ndarray:
        """Give the array itself."""
        return np.asarray(array)

    def cross(self, basis: Any, block: Any) -> np.ndarray:
        """Give basis^T block, summed in float32 within a panel and in float64 over panels."""
        total = np.zeros((basis.shape[1], block.shape[1]))
        for part in self._pool.map(lambda p: basis[p].T @ block[p], _panels(len(block))):
            total += part
        return total

    def subtract(self, block: Any, basis: Any, coefficients: np.ndarray) -> None:
        """Take basis coefficients away from the block, in place."""
        factors = coefficients.astype(np.float32)

        def panel(rows: slice) -> None:
            block[rows] -= basis[rows] @ factors

        self._each(panel, _panels(len(block)))

    def combine(self, basis: Any, coefficients: np.ndarray) -> Any:
        """Give basis coefficients as a new array."""
        factors = np.ascontiguousarray(coefficients, dtype=np.float32)
        result = np.empty((len(basis), factors.shape[1]), dtype=np.float32)
        self._each(
            lambda rows: np.matmul(basis[rows], factors, out=result[rows]), _panels(len(basis))
        )
        return result

    def _each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> None:
        """Call a function that lets go of the GIL with each item, in threads."""
        for _ in self._pool.map(function, items):
            pass


class _Rows:
    """A CSR matrix as the kernel wants it, its rows cut into pieces of like work."""

    def __init__(self, matrix: Any) -> None:
        self.starts = matrix.indptr.astype(np.int64)
        self.columns = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
        self.values = matrix.data
        # a row costs something when it is empty, too
        work = np.diff(matrix.indptr) + 4
        self.pieces = even_ranges(work, max(_PIECE_ENTRIES, work.sum(dtype=np.int64) / 128))


def _panels(rows: int) -> list[slice]:
    """The panels of a tall array."""
    return [slice(first, min(first + _PANEL, rows)) for first in range(0, rows, _PANEL)]


def as_float32_csr(matrix: Any) -> Any:
    """Give a matrix as CSR in float32 with at most one entry per place."""
    # matrix: scipy.sparse array or matrix (V, C); returns scipy.sparse.csr_array, float32 (V, C)
    rows = sp.csr_array(matrix, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
