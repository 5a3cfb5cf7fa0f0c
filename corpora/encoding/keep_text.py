"""Keeps the original text of sentences: compressed in blocks while a corpus is built."""

import itertools
import zlib
from dataclasses import dataclass

import numpy as np

from firth.corpora.artifacts.arrays import ArrayWriters, offsets_of
from firth.corpora.encoding.encode_kernels import join_sentences
from firth.corpora.store.kept_text import BLOCKS, FIRST_SENTENCES, OFFSETS

# One sentence is read by decompressing its block; larger blocks are not much smaller on disk.
_BLOCK_BYTES = 1 << 16
# Of English text level 1 leaves 44 %, level 6 leaves 39 % in three times the time.
_LEVEL = 1


@dataclass(frozen=True)
class CompressedText:
    """Sentences as compressed blocks."""

    data: np.ndarray  # uint8: blocks by zlib, of UTF-8 with a line feed after each sentence
    offsets: np.ndarray  # int64 (n_blocks + 1,)
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
    data = np.frombuffer(b"".join(blocks), dtype=np.uint8)
    return CompressedText(data, offsets_of(map(len, blocks)), np.diff(bounds))


class TextWriter:
    """Writes the kept text of one shard."""

    def __init__(self, arrays: ArrayWriters) -> None:
        self._blocks = arrays.new(BLOCKS, np.uint8)
        self._offsets = arrays.new(OFFSETS, np.int64)
        self._firsts = arrays.new(FIRST_SENTENCES, np.int64)
        self._n_sentences = 0

    def append(self, text: CompressedText) -> None:
        """Append blocks."""
        self._offsets.append(self._blocks.length + text.offsets[:-1])
        self._blocks.append(text.data)
        self._firsts.append(self._n_sentences + offsets_of(text.n_sentences)[:-1])
        self._n_sentences += int(text.n_sentences.sum())

    def end(self) -> None:
        """Append where the last block ends, and the number of sentences."""
        self._offsets.append(np.array([self._blocks.length]))
        self._firsts.append(np.array([self._n_sentences]))
