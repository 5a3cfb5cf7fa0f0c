"""Named arrays on disk: written by appending, read by memory mapping."""

import contextlib
import itertools
import os
import threading
import tokenize
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from firth.corpora.common.errors import ArtifactError

_SUFFIX = ".npy"
_BLOCK_BYTES = 1 << 22
# NumPy parses headers as Python literals, which in CPython 3.11 can fail ("AST constructor
# recursion depth mismatch") while another thread does so, too.
_HEADERS = threading.Lock()
# What NumPy raises on files without an array; it parses their headers as Python literals.
UNREADABLE = (
    ValueError, TypeError, OverflowError, EOFError, OSError, tokenize.TokenError,
    zipfile.BadZipFile,
)  # fmt: skip


class ArrayWriter:
    """A one-dimensional ``.npy`` file that grows by appending."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Append values, (n,)."""
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self._file.write(values.data)
        self.length += len(values)

    def close(self) -> None:
        """Write the true length into the header and close the file."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def discard(self) -> None:
        """Close the file without writing its length."""
        with contextlib.suppress(OSError):  # flushing fails on a full disk
            self._file.close()

    def _write_header(self) -> None:
        """Write the header, which numpy pads to the same size for any length."""
        _write_npy_header(self._file, self.dtype, (self.length,))


def array_path(directory: Path, name: str) -> Path:
    """Return the path of a named array."""
    return directory / (name + _SUFFIX)


def write_array(directory: Path, name: str, values: np.ndarray) -> None:
    """Write a named array in one go."""
    directory.mkdir(parents=True, exist_ok=True)
    save_array(array_path(directory, name), values)


def new_mapped(path: Path, dtype: Any, length: int) -> np.memmap:
    """Create a memory-mapped array, all of whose bytes are allocated."""
    with open(path, "wb") as file:
        _write_npy_header(file, np.dtype(dtype), (length,))
        allocate(file, file.tell() + length * np.dtype(dtype).itemsize)
    with _HEADERS:
        return np.lib.format.open_memmap(path, mode="r+")


def allocate(file: BinaryIO, size: int) -> None:
    """Extend a file to a size; writing to a hole on a full disk would kill us with SIGBUS."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(file.tell(), size, _BLOCK_BYTES):
        file.write(bytes(min(_BLOCK_BYTES, size - start)))
    file.flush()


def open_array(directory: Path, name: str, *, writable: bool = False) -> np.ndarray:
    """Memory-map a named array."""
    again = "build the corpus again"
    missing = f"the file is missing; {again}"
    mode = "r+" if writable else "r"
    return map_array(array_path(directory, name), again=again, missing=missing, mode=mode)


def save_array(path: Path, values: np.ndarray) -> None:
    """Write the same ``.npy`` as :func:`numpy.save`, without its two defects.

    ``numpy.save`` copies views, and ignores errors on close: on a full disk the last
    kilobytes of an array can be missing without an error.
    """
    save_blocks(path, values.dtype, values.shape, row_blocks(values))


def save_blocks(
    path: Path, dtype: Any, shape: tuple[int, ...], blocks: Iterable[np.ndarray]
) -> None:
    """Write a ``.npy`` block by block."""
    assert not np.dtype(dtype).hasobject, path.name
    with open(path, "wb") as file:
        _write_npy_header(file, np.dtype(dtype), shape)
        for block in blocks:
            file.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)


def _write_npy_header(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write the header of a ``.npy``."""
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def row_blocks(array: np.ndarray, block_bytes: int = _BLOCK_BYTES) -> Iterator[np.ndarray]:
    """Yield blocks of rows, so that a non-contiguous array is copied one block at a time."""
    n_rows = max(1, block_bytes * len(array) // max(1, array.nbytes))
    for first in range(0, len(array), n_rows):
        yield array[first : first + n_rows]


def map_array(path: Path, *, again: str, missing: str, mode: Any = "r") -> np.ndarray:
    """Memory-map a ``.npy``; ``missing`` and ``again`` (the remedy) complete the error messages."""
    try:
        with _HEADERS:
            array = np.load(path, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError:
        raise ArtifactError(f"{path}: {missing}") from None
    except UNREADABLE as error:
        raise ArtifactError(f"{path}: is damaged ({error}); {again}") from None
    if not isinstance(array, np.ndarray):  # np.load detects archives by their first bytes
        array.close()
        raise ArtifactError(f"{path}: is a zip archive, not an array; {again}")
    return array


def load_arrays(file: Path | BinaryIO) -> dict[str, np.ndarray]:
    """Read all arrays of a ``.npz``."""
    with _HEADERS, np.load(file, allow_pickle=False) as saved:
        return dict(saved)


class ArrayWriters:
    """Named arrays of one folder that are written together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._files: list[ArrayWriter] = []

    def new(self, name: str, dtype: Any) -> ArrayWriter:
        """Return the writer of another array."""
        self._files.append(ArrayWriter(array_path(self.directory, name), dtype))
        return self._files[-1]

    def close(self) -> None:
        """Write the true lengths and close the files."""
        for file in self._files:
            file.close()

    def discard(self) -> None:
        """Close the files without writing their lengths."""
        for file in self._files:
            file.discard()


class StringWriter:
    """Appends strings to two named arrays, ``NAME.text`` (UTF-8) and ``NAME.offsets``."""

    def __init__(self, arrays: ArrayWriters, name: str) -> None:
        self._text = arrays.new(f"{name}.text", np.uint8)
        self._offsets = arrays.new(f"{name}.offsets", np.int64)
        self._offsets.append(np.zeros(1, dtype=np.int64))

    def append(self, strings: Iterable[str]) -> None:
        """Append strings."""
        encoded = [string.encode() for string in strings]
        self._offsets.append(offsets_of(map(len, encoded))[1:] + self._text.length)
        self._text.append(np.frombuffer(b"".join(encoded), dtype=np.uint8))


def read_strings(text: np.ndarray, offsets: np.ndarray, first: int, stop: int) -> list[str]:
    """Decode the strings ``first`` to ``stop`` of a concatenated text."""
    # text: uint8 (n_bytes,); offsets: int64 (n + 1,)
    bounds = np.asarray(offsets[first : stop + 1]).tolist()
    base = bounds[0]
    block = text[base : bounds[-1]].tobytes()
    try:
        return [block[a - base : b - base].decode() for a, b in itertools.pairwise(bounds)]
    except UnicodeDecodeError as error:
        path = getattr(text, "filename", "text")
        raise ArtifactError(f"{path}: is damaged ({error}); build the corpus again") from None


def offsets_of(lengths: Iterable[int]) -> np.ndarray:
    """Return where parts of some lengths start, and the end, int64 (n + 1,)."""
    values = lengths if isinstance(lengths, np.ndarray) else np.array([*lengths], dtype=np.int64)
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=offsets[1:])
    return offsets
