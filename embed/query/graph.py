"""The graph of near vectors that an index holds, by the library usearch (HNSW).

Malkov & Yashunin 2016, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs", arXiv:1603.09320.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import ArtifactError, SettingError, imported
from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import thread_count
from firth.embed.vectors.search import unit_rows

_EDGES, _BUILD_EFFORT = 16, 128  # of a node, and candidates for them
_BLOCK_ROWS = 1 << 11  # added at once; Ctrl-C waits for them
# In the file of a graph: after the vectors, the codes of inner product, float16, and the types of
# keys and slots; words, deleted ones, dimensions; words, edges, edges at level 0, top level, entry
_HEADER = struct.Struct("<13x4s3Q23x5Q")
_KINDS = bytes([ord("i"), 12, 14, 15])
_UPPER = np.dtype([("n", "<u4"), ("slots", "<u4", _EDGES)])
_NODE = np.dtype([("key", "<u8"), ("level", "<i2"), ("n", "<u4"), ("slots", "<u4", 2 * _EDGES)])


class Graph:
    """A graph of unit vectors in 16 bits; keys are rows."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, matrix: Any) -> "Graph":
        """Build the graph of a matrix; with several threads it differs from time to time."""
        # matrix: float32 (V, D) or Int8Rows (V, D)
        n_words, dim = matrix.shape
        index = require_usearch().Index(
            ndim=dim, metric="ip", dtype="f16", connectivity=_EDGES, expansion_add=_BUILD_EFFORT
        )
        with progress("indexing", "words") as show:
            for start in range(0, n_words, _BLOCK_ROWS):
                rows = np.arange(start, min(start + _BLOCK_ROWS, n_words))
                units = unit_rows(matrix, rows).astype(np.float32)
                index.add(rows.astype(np.uint64), units, threads=thread_count(None))
                show(start + len(rows), n_words)
        return cls(index)

    @classmethod
    def open(cls, path: Path, again: str) -> "Graph":
        """Memory-map a graph; ``again`` is the remedy if that fails."""
        library = require_usearch()
        try:
            return cls(library.Index.restore(str(path), view=True))
        except (RuntimeError, ValueError, OSError) as error:
            raise ArtifactError(f"{path}: cannot be opened by usearch ({error}); {again}") from None

    def save(self, path: Path) -> None:
        """Write the graph to a file."""
        self._index.save(str(path))

    def search(self, units: np.ndarray, count: int, effort: int) -> list[np.ndarray]:
        """Return ``count`` or fewer rows near each query, int64 (n,)."""
        # units: float64 (q, D)
        self._index.expansion_search = max(effort, count)
        found = self._index.search(units.astype(np.float32), count, threads=thread_count(None))
        if len(units) == 1:  # usearch then returns one list, without counts
            return [np.asarray(found.keys).astype(np.int64)]
        pairs = zip(found.keys, found.counts.tolist(), strict=True)
        return [keys[:n].astype(np.int64) for keys, n in pairs]


def is_graph(path: Path, n_words: int, dim: int) -> bool:
    """Return whether a file is a graph whose edges and keys lie in it; usearch does not check."""
    start = 8 + 2 * n_words * dim
    try:
        data = np.memmap(path, np.uint8, "r")
        *header, top, entry = _HEADER.unpack_from(data.data, start)
        levels_end = start + _HEADER.size + 2 * n_words
        levels = data[start + _HEADER.size : levels_end].view("<i2").astype(np.int64)
        starts = offsets_of(_NODE.itemsize + levels * _UPPER.itemsize)
        tape = data[levels_end : levels_end + starts[-1]]
        fits = levels_end + starts[-1] == len(data) and top <= levels[entry]
        fits &= bool(levels.min() >= 0)
        fits &= struct.unpack_from("<2I", data.data) == (n_words, 2 * dim)
        fits &= header == [_KINDS, n_words, 0, dim, n_words, _EDGES, 2 * _EDGES]
        for level in range(top + 1) if fits else ():
            above = np.flatnonzero(levels >= level)
            for first in range(0, len(above), _BLOCK_ROWS):
                places = above[first : first + _BLOCK_ROWS]
                fits &= _are_nodes(tape, starts[places], level, levels, places)
    except (IndexError, ValueError, struct.error):
        return False
    return bool(fits)


def _are_nodes(
    tape: np.ndarray, starts: np.ndarray, level: int, levels: np.ndarray, places: np.ndarray
) -> bool:
    """Return whether nodes have keys of words, and edges to nodes that reach the level."""
    kind = _UPPER if level else _NODE
    starts = starts + (_NODE.itemsize + (level - 1) * _UPPER.itemsize if level else 0)
    windows = np.lib.stride_tricks.sliding_window_view(tape, kind.itemsize)
    nodes = windows[starts].view(kind)[:, 0]
    slots = nodes["slots"][np.arange(nodes["slots"].shape[1]) < nodes["n"][:, None]]
    fits = (nodes["n"] <= nodes["slots"].shape[1]).all() and (levels[slots] >= level).all()
    if not level:
        fits &= (nodes["key"] < len(levels)).all() and (nodes["level"] == levels[places]).all()
    return bool(fits)


def require_usearch() -> Any:
    """Return the library; raise unless it is installed."""
    remedy = "approximate search needs the package usearch; pip install 'firth[ann]'"
    return imported("usearch.index", SettingError(remedy))
