"""The operations of :mod:`embed.svd.sparse_products` by torch: for CUDA, where there is one."""

import warnings
from typing import Any

import numpy as np

from embed.svd.sparse_products import Operations


class TorchOperations(Operations):
    """The same operations by torch, on any of its devices.

    Deterministic as far as the device's sparse product is. TF32 is left as
    torch is set, which is off by default.
    """

    def __init__(self, matrix: Any, device: str) -> None:
        # matrix: scipy.sparse CSR, float32 (V, C)
        self.shape = matrix.shape
        self.device = device
        self._matrix = _torch_csr(matrix, device)
        self._transposed = _torch_csr(matrix.T.tocsr(), device)

    def multiply(self, block: Any, *, transposed: bool = False) -> Any:
        """Give the sparse matrix, or its transpose, times a block."""
        return (self._transposed if transposed else self._matrix) @ block

    def empty(self, rows: int, columns: int) -> Any:
        """Give room for a basis."""
        import torch

        return torch.empty((rows, columns), dtype=torch.float32, device=self.device)

    def load(self, array: np.ndarray) -> Any:
        """Bring an array to the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(self.device)

    def fetch(self, array: Any) -> np.ndarray:
        """Bring a tensor to the host."""
        return np.asarray(array.cpu().numpy())

    def cross(self, basis: Any, block: Any) -> np.ndarray:
        """Give basis^T block."""
        return np.asarray((basis.T @ block).cpu().numpy(), dtype=np.float64)

    def subtract(self, block: Any, basis: Any, coefficients: np.ndarray) -> None:
        """Take basis coefficients away from the block, in place."""
        block -= basis @ self.load(coefficients)

    def combine(self, basis: Any, coefficients: np.ndarray) -> Any:
        """Give basis coefficients as a new tensor."""
        return basis @ self.load(coefficients)


def _torch_csr(matrix: Any, device: str) -> Any:
    """A SciPy CSR matrix as a torch one; torch's remark that these are in beta is left out."""
    import torch

    index = torch.int32 if matrix.nnz < 2**31 else torch.int64
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr).to(device=device, dtype=index),
            torch.from_numpy(matrix.indices).to(device=device, dtype=index),
            torch.from_numpy(matrix.data).to(device),
            size=matrix.shape,
            check_invariants=False,  # SciPy has checked them; unsaid, torch warns
        )
