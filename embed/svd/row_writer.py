"""Rows of a sparse matrix gathered in memory, or on disk once they exceed a limit."""

import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


class RowWriter:
    """Takes a sparse integer matrix row range by row range.

    The disk files have no name: however the process ends, they are gone.
    """

    def __init__(self, dtype: Any, most: int, limit: int, directory: Path | None = None) -> None:
        self._columns = np.empty(min(most, limit), np.int32)  # untouched pages cost nothing
        self._values = np.empty(min(most, limit), dtype)
        self._lengths: list[np.ndarray] = []
        self._end = 0
        self._directory = directory
        self._files: tuple[BinaryIO, BinaryIO] | None = None

    def append(self, columns: np.ndarray, values: np.ndarray, lengths: np.ndarray) -> None:
        """Take the next rows."""
        # columns: int32 (n,); values: (n,); lengths: int64 (n_rows,)
        stop = self._end + len(columns)
        if self._files is None and stop > len(self._columns):
            self._spill()
        if self._files is None:
            self._columns[self._end : stop] = columns
            self._values[self._end : stop] = values
        else:
            # write(), because tofile() hides why a disk refused
            self._files[0].write(columns.view(np.uint8).data)
            self._files[1].write(values.view(np.uint8).data)
        self._end = stop
        self._lengths.append(lengths)

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hand the matrix over."""
        # returns starts: int64 (n_rows + 1,); returns columns: int32 (n,); returns values: (n,)
        starts = np.concatenate([[0], *self._lengths]).cumsum()
        if self._files is None:
            self._columns.resize(self._end, refcheck=False)  # gives the rest back in place
            self._values.resize(self._end, refcheck=False)
            return starts, self._columns, self._values
        return starts, self._mapped(0, np.int32), self._mapped(1, self._values.dtype)

    @property
    def on_disk(self) -> bool:
        """Whether the rows exceeded the limit."""
        return self._files is not None

    def _spill(self) -> None:
        """Move what is in memory to disk and go on there."""
        self._files = (
            tempfile.TemporaryFile(dir=self._directory),  # noqa: SIM115 - mapped by finish()
            tempfile.TemporaryFile(dir=self._directory),  # noqa: SIM115 - mapped by finish()
        )
        for file, array in zip(self._files, (self._columns, self._values), strict=True):
            file.write(array[: self._end].view(np.uint8).data)
        self._columns = self._columns[:0].copy()
        self._values = self._values[:0].copy()

    def _mapped(self, which: int, dtype: Any) -> np.ndarray:
        """One disk file as a writable array."""
        assert self._files is not None
        file = self._files[which]
        file.flush()
        if self._end == 0:
            return np.empty(0, dtype)
        mapped = np.memmap(file, dtype, "r+", shape=(self._end,))
        file.close()  # the mapping keeps the nameless file alive
        return mapped.view(np.ndarray)
