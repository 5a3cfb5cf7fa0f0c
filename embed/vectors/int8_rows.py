"""Vectors in 8 bits: each row is integers from -127 to 127 and one scale.

A number is stored as round(number / scale), where the scale of a row is its largest absolute
number / 127. So it is off by half a scale at most, and a row takes D + 4 bytes instead of 4 D.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import save_array, save_blocks
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.vectors.run_files import not_finite, open_array

CODES = "vectors.int8.npy"
SCALES = "scales.npy"
_LARGEST = 127
_BLOCK_ROWS = 1 << 14
_AGAIN = "export it again"


class Int8Rows:
    """A matrix in 8 bits, possibly memory-mapped, of which an index takes float32 rows."""

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(self, codes: np.ndarray, scales: np.ndarray) -> None:
        # codes: int8 (V, D); scales: float32 (V,)
        self.codes = codes
        self.scales = scales
        self.shape: tuple[int, ...] = codes.shape

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, key: Any) -> np.ndarray:
        rows, *columns = key if isinstance(key, tuple) else (key,)
        taken: np.ndarray = self.codes[rows] * np.asarray(self.scales[rows])[..., None]
        return taken[..., *columns]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # returns float32 (V, D), all rows unpacked
        return self[:].astype(dtype or self.dtype, copy=False)

    def mean(self, axis: int, dtype: Any) -> np.ndarray:
        """Return the mean of all rows, (D,), by blocks."""
        assert axis == 0
        blocks = range(0, len(self), _BLOCK_ROWS)
        sums = sum(self[start : start + _BLOCK_ROWS].sum(axis=0, dtype=dtype) for start in blocks)
        return np.asarray(sums) / max(1, len(self))


def is_dense(matrix: Any) -> bool:
    """Return whether a matrix of vectors is dense: an array or in 8 bits, not a sparse one."""
    return isinstance(matrix, np.ndarray | Int8Rows)


def save_int8(directory: Path, matrix: Any, vocabulary: Sequence[str], name: str) -> None:
    """Write ``vectors.int8.npy`` and ``scales.npy``; raise if a vector is not finite."""
    if not is_dense(matrix):
        raise SettingError(f"{name}: has sparse vectors, which are not stored in 8 bits")
    scales = np.empty(len(matrix), np.float32)

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, len(matrix), _BLOCK_ROWS):
            block = np.asarray(matrix[start : start + _BLOCK_ROWS], np.float32)
            largest = np.abs(block).max(axis=1, initial=0)
            finite = np.isfinite(largest)
            if not finite.all():
                word = vocabulary[start + int(np.flatnonzero(~finite)[0])]
                raise not_finite(name, word)
            part = scales[start : start + len(block)]
            part[:] = largest / _LARGEST
            yield np.rint(block / np.where(part > 0, part, 1)[:, None]).astype(np.int8)

    save_blocks(directory / CODES, np.int8, matrix.shape, blocks())
    save_array(directory / SCALES, scales)


def open_int8(run: Path) -> Int8Rows:
    """Open what :func:`save_int8` wrote, memory-mapped."""
    codes = open_array(run / CODES, np.int8, 2, again=_AGAIN)
    scales = open_array(run / SCALES, np.float32, 1, again=_AGAIN)
    if len(codes) != len(scales):
        raise ArtifactError(
            f"{run / SCALES}: has {len(scales)} scales for {len(codes)} rows of {CODES}; {_AGAIN}"
        )
    return Int8Rows(codes, scales)
