"""Streams cut into blocks at line ends, and where the line ends are."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray


def cut_blocks(
    chunks: Iterable[bytes], boundary: Callable[[bytes], int], block_bytes: int
) -> Iterator[tuple[int, bytes]]:
    """Gather chunks into blocks that end where the format permits.

    A block grows, doubling, until it holds a permitted end, so a line longer
    than a block is searched in linear time all the same.
    """
    line, held, goal = 1, 0, block_bytes
    pieces: list[bytes] = []
    for piece in _slices(chunks, block_bytes):
        pieces.append(piece)
        held += len(piece)
        if held < goal:
            continue
        data = b"".join(pieces)
        cut = boundary(data)
        if cut:
            block, data = data[:cut], data[cut:]
            yield line, block
            line += count_lines(block)
        pieces, held = [data], len(data)
        goal = max(block_bytes, 2 * held)
    if held:
        yield line, b"".join(pieces)


def _slices(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of one size, so that blocks do not tell how a file was packed."""
    pieces: list[bytes] = []
    held = 0
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            pieces.append(chunk[start : start + size - held])
            start += len(pieces[-1])
            held += len(pieces[-1])
            if held == size:
                yield b"".join(pieces)
                pieces, held = [], 0
    if pieces:
        yield b"".join(pieces)


def after_line_end(data: bytes) -> int:
    """Cut after the last line end."""
    return data.rfind(b"\n") + 1


def count_lines(data: bytes) -> int:
    """Count line ends, several times as fast as ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def line_ends(data: bytes) -> NDArray[np.int64]:
    """Find the line ends."""
    # returns int64 (n,)
    return np.flatnonzero(np.frombuffer(data, np.uint8) == 10)


def ended(data: bytes) -> bytes:
    """End the last line."""
    return data + b"\n" if data and not data.endswith(b"\n") else data
