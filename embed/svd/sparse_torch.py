"""The operations of :mod:`firth.embed.svd.sparse_products` in torch, for CUDA."""

import warnings
from typing import Any

import numpy as np

from firth.embed.svd.sparse_products import CpuOperations


class TorchOperations:
    """Operations in torch on any of its devices.

    As deterministic as the sparse product of the device. The TF32 setting of
    torch applies; its default is off.
    """

    def __init__(self, matrix: Any, device: str) -> None:
        # matrix: scipy.sparse CSR, float32 (V, C)
        self.shape = matrix.shape
        self.device = device
        self._matrix = _torch_csr(matrix, device)
        self._transposed = _torch_csr(matrix.T.tocsr(), device)

    def multiply(self, block: Any, *, transposed: bool = False) -> Any:
        """Return the sparse matrix, or its transpose, times a block."""
        return (self._transposed if transposed else self._matrix) @ block

    def empty(self, rows: int, columns: int) -> Any:
        """Allocate a basis, uninitialized."""
        import torch

        return torch.empty((rows, columns), dtype=torch.float32, device=self.device)

    def load(self, array: np.ndarray) -> Any:
        """Copy an array to the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(self.device)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy a tensor to the host."""
        return np.asarray(array.cpu().numpy())

    def cross(self, basis: Any, block: Any) -> np.ndarray:
        """Return basis^T @ block, on the host."""
        return np.asarray((basis.T @ block).cpu().numpy(), dtype=np.float64)

    def subtract(self, block: Any, basis: Any, coefficients: np.ndarray) -> None:
        """Subtract basis @ coefficients from the block in place."""
        block -= basis @ self.load(coefficients)

    def combine(self, basis: Any, coefficients: np.ndarray) -> Any:
        """Return basis @ coefficients as a new tensor."""
        return basis @ self.load(coefficients)


Operations = CpuOperations | TorchOperations


def _torch_csr(matrix: Any, device: str) -> Any:
    """Copy a SciPy CSR matrix to torch, without torch's warnings about such tensors."""
    import torch

    index = torch.int32 if matrix.nnz < 2**31 else torch.int64
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        # torch 2.11 says this even if ``check_invariants`` is given
        warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr).to(device=device, dtype=index),
            torch.from_numpy(matrix.indices).to(device=device, dtype=index),
            torch.from_numpy(matrix.data).to(device),
            size=matrix.shape,
            check_invariants=False,  # SciPy has checked them
        )
