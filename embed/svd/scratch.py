"""Large arrays in memory, or in unnamed files once they exceed a limit."""

import math
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from firth.corpora.artifacts.arrays import allocate


class Scratch:
    """Hands out arrays: the first ones in memory, those that exceed ``limit`` bytes on disk.

    The files are unnamed, so they are removed when the process ends or is killed, and mapped into
    memory, so that they are used like any array.
    """

    def __init__(self, limit: int | None = None, directory: Path | None = None) -> None:
        self._left = math.inf if limit is None else limit
        self._directory = directory

    def take(self, size: int) -> bool:
        """Return whether the next array, of so many bytes, is in memory, and count it."""
        fits = size <= self._left
        self._left -= size if fits else 0
        return fits

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Allocate an array, uninitialized."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if self.take(size):
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self._directory) as file:
            allocate(file, size)
            return map_unnamed(file, dtype, shape)


def map_unnamed(file: BinaryIO, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Map a file as a writable array, which keeps an unnamed file alive after it is closed."""
    if not math.prod(shape):
        return np.empty(shape, dtype)
    return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
