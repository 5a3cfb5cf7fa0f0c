"""Keeps the original text of sentences: compressed in blocks while a corpus is built."""

import itertools
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import ArrayWriter, array_path
from firth.corpora.encoding.encode_kernels import join_sentences
from firth.corpora.store.kept_text import BLOCKS, FIRST_SENTENCES, OFFSETS

# One sentence is read by decompressing its block; larger blocks are not much smaller on disk.
_BLOCK_BYTES = 1 << 16
# Of English text level 1 leaves 44 %, level 6 leaves 39 % in three times the time.
_LEVEL = 1


@dataclass(frozen=True)
class CompressedText:
    """Sentences as compressed blocks."""

    blocks: list[bytes]  # by zlib, UTF-8 with a line feed after each sentence
    n_sentences: np.ndarray  # int64 (n_blocks,)


def compress_sentences(
    text: np.ndarray, starts: np.ndarray, stops: np.ndarray, separator: str
) -> CompressedText:
    """Compress sentences, each stripped of white space, with spaces in place of ``separator``."""
    # text: uint8 (n_bytes,), UTF-8; starts, stops: int64 (n_sentences,), byte offsets
    joined = np.empty(len(text) + len(starts), dtype=np.uint8)
    ends = np.zeros(len(starts) + 1, dtype=np.int64)
    join_sentences(text, starts, stops, ord(separator), joined, ends)
    firsts = np.flatnonzero(np.diff(ends[:-1] // _BLOCK_BYTES, prepend=-1))
    bounds = np.append(firsts, len(starts))
    blocks = [zlib.compress(joined[a:b].data, _LEVEL) for a, b in itertools.pairwise(ends[bounds])]
    return CompressedText(blocks, np.diff(bounds))


class TextWriter:
    """Writes the kept text of one shard."""

    def __init__(self, directory: Path) -> None:
        self._blocks = ArrayWriter(array_path(directory, BLOCKS), np.uint8)
        self._offsets = ArrayWriter(array_path(directory, OFFSETS), np.int64)
        self._firsts = ArrayWriter(array_path(directory, FIRST_SENTENCES), np.int64)
        self._n_sentences = 0

    def append(self, text: CompressedText) -> None:
        """Append blocks."""
        lengths = np.array([0, *map(len, text.blocks)], dtype=np.int64)
        self._offsets.append(self._blocks.length + np.cumsum(lengths)[:-1])
        self._blocks.append(np.frombuffer(b"".join(text.blocks), dtype=np.uint8))
        ends = self._n_sentences + np.cumsum(text.n_sentences)
        self._firsts.append(ends - text.n_sentences)
        self._n_sentences += int(text.n_sentences.sum())

    def close(self) -> None:
        """Write the ends and the lengths, and close the files."""
        self._offsets.append(np.array([self._blocks.length]))
        self._firsts.append(np.array([self._n_sentences]))
        for writer in (self._blocks, self._offsets, self._firsts):
            writer.close()

    def discard(self) -> None:
        """Close the files of a failed build."""
        for writer in (self._blocks, self._offsets, self._firsts):
            writer.discard()
