"""Collect the rows of a sparse matrix in memory, or on disk once they exceed a limit."""

import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from firth.embed.svd.scratch import map_unnamed


class RowWriter:
    """Collects a sparse integer matrix, one range of rows at a time.

    Up to ``limit`` entries stay in memory. The disk files are unnamed, so they are removed when
    the process ends or is killed.
    """

    def __init__(
        self, dtype: Any, max_entries: int, limit: int, directory: Path | None = None
    ) -> None:
        size = min(max_entries, limit)
        self._columns = np.empty(size, np.int32)  # untouched pages cost nothing
        self._values = np.empty(size, dtype)
        self._lengths: list[np.ndarray] = []
        self._end = 0
        self._directory = directory
        self._files: tuple[BinaryIO, BinaryIO] | None = None

    def append(self, columns: np.ndarray, values: np.ndarray, lengths: np.ndarray) -> None:
        """Append rows, given the number of entries in each."""
        # columns: int32 (n,); values: (n,); lengths: int64 (n_rows,)
        stop = self._end + len(columns)
        if self._files is None and stop > len(self._columns):
            self._spill()
        if self._files is None:
            self._columns[self._end : stop] = columns
            self._values[self._end : stop] = values
        else:
            # write(), because the error of tofile() does not say why it failed
            self._files[0].write(columns.view(np.uint8).data)
            self._files[1].write(values.view(np.uint8).data)
        self._end = stop
        self._lengths.append(lengths)

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the matrix as starts, columns and values; memory-mapped if on disk."""
        # returns int64 (n_rows + 1,), int32 (n,), (n,)
        starts = np.concatenate([[0], *self._lengths]).cumsum()
        if self._files is None:
            self._columns.resize(self._end, refcheck=False)  # frees the rest in place
            self._values.resize(self._end, refcheck=False)
            return starts, self._columns, self._values
        return starts, self._map_file(0, np.int32), self._map_file(1, self._values.dtype)

    @property
    def on_disk(self) -> bool:
        """Whether the rows exceeded the limit."""
        return self._files is not None

    def _spill(self) -> None:
        """Move the entries from memory to disk, where later ones follow."""
        self._files = (
            tempfile.TemporaryFile(dir=self._directory),  # noqa: SIM115 - mapped by finish()
            tempfile.TemporaryFile(dir=self._directory),  # noqa: SIM115 - mapped by finish()
        )
        for file, array in zip(self._files, (self._columns, self._values), strict=True):
            file.write(array[: self._end].view(np.uint8).data)
        self._columns = self._columns[:0].copy()
        self._values = self._values[:0].copy()

    def _map_file(self, which: int, dtype: Any) -> np.ndarray:
        """Map one disk file as a writable array."""
        assert self._files is not None
        with self._files[which] as file:
            file.flush()
            return map_unnamed(file, dtype, (self._end,))
