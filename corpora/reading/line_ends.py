"""Cuts streams into blocks at line ends, and finds line ends."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firth.corpora.common.errors import UnreadableError


class BlockLimit(NamedTuple):
    """How many bytes of a source may be read in one piece: what fits the memory."""

    source: str  # SourceFile.name
    most: float = math.inf

    def check(self, held: int, line: int) -> None:
        """Raise if the piece that starts at a line has more bytes."""
        if held > self.most:
            raise UnreadableError(
                f"{self.source}:{line}: the paragraph or record that starts here has "
                f"{held / 1e6:,.0f} MB or more, which do not fit the memory; divide it, or pass "
                "more `memory`"
            )


def cut_blocks(
    chunks: Iterable[bytes],
    boundary: Callable[[bytes], int],
    block_bytes: int,
    limit: BlockLimit | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Regroup chunks into blocks that end at a boundary; yield each with its first line number.

    ``boundary`` returns the last offset at which data may be cut, 0 if there is none; the
    block then doubles, so that very long lines still take linear time, up to the limit.
    """
    limit = limit or BlockLimit("")
    line, held, goal = 1, 0, block_bytes
    pieces: list[bytes] = []
    for piece in _slices(chunks, block_bytes):
        pieces.append(piece)
        held += len(piece)
        if held < goal and held <= limit.most:
            continue
        data = b"".join(pieces)
        cut = boundary(data)
        if cut:
            block, data = data[:cut], data[cut:]
            yield line, block
            # several times as fast as bytes.count
            line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))
        else:
            limit.check(held, line)
        pieces, held = [data], len(data)
        goal = max(block_bytes, 2 * held)
    if held:
        yield line, b"".join(pieces)


def _slices(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Re-slice to a fixed size, so that blocks do not depend on how a file was compressed."""
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
    """Return the offset after the last line end; 0 if there is none."""
    return data.rfind(b"\n") + 1


def line_ends(data: bytes) -> NDArray[np.int64]:
    """Return the offset of every line end, int64."""
    return np.flatnonzero(np.frombuffer(data, np.uint8) == 10)


def with_line_end(data: bytes) -> bytes:
    """Return data with a line end added if the last line has none."""
    return data + b"\n" if data and not data.endswith(b"\n") else data
