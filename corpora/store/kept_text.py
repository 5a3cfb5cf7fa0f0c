"""Reads the original text of sentences, which a corpus can keep."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import array_path, open_array
from firth.corpora.common.errors import ArtifactError

# Arrays of a shard: compressed blocks, where they start, and the first sentence of each.
BLOCKS, OFFSETS, FIRST_SENTENCES = "texts", "texts.offsets", "texts.sentences"
_CACHED_BLOCKS = 16


class KeptText:
    """The texts of the sentences of one shard."""

    def __init__(self, directory: Path) -> None:
        if not array_path(directory, BLOCKS).exists():
            raise ArtifactError(
                f"{directory}: the corpus keeps no text; build it again with `keep_text=True`"
            )
        self._path = array_path(directory, BLOCKS)
        self._blocks = open_array(directory, BLOCKS)  # uint8: zlib streams
        self._offsets = open_array(directory, OFFSETS)  # int64 (n_blocks + 1,)
        self._firsts = open_array(directory, FIRST_SENTENCES)  # int64 (n_blocks + 1,)
        self._lines = lru_cache(maxsize=_CACHED_BLOCKS)(self._read_lines)

    def texts(self, numbers: Sequence[int] | np.ndarray) -> list[str]:
        """Return the texts of sentences; decompress each of their blocks once."""
        wanted = np.asarray(numbers, dtype=np.int64)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self._firsts[-1]:
            raise IndexError(f"sentences {wanted.min()} to {wanted.max()} of {self._firsts[-1]}")
        blocks = np.searchsorted(self._firsts, wanted, side="right") - 1
        texts = [""] * len(wanted)
        for place in np.argsort(blocks, kind="stable").tolist():
            block = int(blocks[place])
            texts[place] = self._lines(block)[int(wanted[place] - self._firsts[block])]
        return texts

    def _read_lines(self, block: int) -> list[str]:
        """Decompress a block into its sentences."""
        try:
            start, stop = self._offsets[block : block + 2].tolist()
            first, end = self._firsts[block : block + 2].tolist()
            lines = zlib.decompress(self._blocks[start:stop].data).decode().split("\n")
            if len(lines) - 1 != end - first:
                raise ValueError(f"{len(lines) - 1} sentences instead of {end - first}")
        except (zlib.error, ValueError) as error:
            raise ArtifactError(
                f"{self._path}: is damaged (block {block}: {error}); build the corpus again"
            ) from None
        return lines
