"""Helpers that the writers of vector formats share."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from firth.corpora.common.errors import ArtifactError

_BLOCK_BYTES = 1 << 24


def refuse_unwritable(words: Sequence[str], format: str, gaps: str = " \t\r\n") -> None:
    """Raise if a word is empty or contains one of the characters that separate words."""
    joined = "\x00".join(words)
    if not any(gap in joined for gap in gaps) and "" not in words:
        return
    for row, word in enumerate(words):
        if not word or any(gap in word for gap in gaps):
            why = "whitespace separates its words" if word else "its words cannot be empty"
            raise ArtifactError(
                f"format {format} cannot hold the word {word!r} (row {row}): {why}; "
                "choose another format"
            )


def dense_block(matrix: Any, start: int, stop: int) -> np.ndarray:
    """Return rows of a dense or sparse CSR matrix, float32 (stop - start, D)."""
    block = matrix[start:stop]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float32)


def blocks(matrix: Any) -> Iterator[np.ndarray]:
    """Iterate over a dense or sparse CSR matrix in dense float32 blocks of rows."""
    step = max(1, _BLOCK_BYTES // (4 * max(1, matrix.shape[1])))
    for start in range(0, matrix.shape[0], step):
        yield dense_block(matrix, start, start + step)
