"""The graph of near vectors that an index holds, by the library usearch (HNSW).

Malkov & Yashunin 2016, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs", arXiv:1603.09320.
"""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import thread_count
from firth.embed.vectors.search import unit_rows

_EDGES, _BUILD_EFFORT = 16, 128  # of a node, and candidates for them
_BLOCK_ROWS = 1 << 11  # added at once; Ctrl-C waits for them


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


def require_usearch() -> Any:
    """Return the library; raise unless it is installed."""
    try:
        import usearch.index
    except ImportError:
        raise SettingError(
            "approximate search needs the package usearch; pip install 'firth[ann]'"
        ) from None
    return usearch.index
