"""What all vectors formats share when they are written: whole or absent, nothing bent."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corpora.common.errors import ArtifactError

_DISK_BLOCK = 1 << 24


def refuse_unholdable(words: Sequence[str], format: str, gaps: str = " \t\r\n") -> None:
    """Refuse words that a format cannot hold."""
    joined = "\x00".join(words)
    if not any(gap in joined for gap in gaps) and "" not in words:
        return
    for row, word in enumerate(words):
        if not word or any(gap in word for gap in gaps):
            why = "white space separates words there" if word else "a word cannot be empty there"
            raise ArtifactError(
                f"format {format} cannot hold the word {word!r} (row {row}): {why}; "
                "choose another format"
            )


def dense_block(matrix: Any, start: int, stop: int) -> np.ndarray:
    """Take rows of a matrix as floats, whatever it is."""
    # matrix: float32 (V, D) or scipy.sparse CSR (V, D); returns float32 (stop - start, D)
    block = matrix[start:stop]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float32)


def blocks(matrix: Any) -> Iterator[np.ndarray]:
    """Walk over a matrix in blocks of a few MB."""
    # matrix: float32 (V, D) or scipy.sparse CSR (V, D); yields float32 (R, D)
    step = max(1, _DISK_BLOCK // (4 * max(1, matrix.shape[1])))
    for start in range(0, matrix.shape[0], step):
        yield dense_block(matrix, start, start + step)
