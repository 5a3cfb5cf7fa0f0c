"""A graph as arrays: the neighbors of each node, and the weights of its edges."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from firth.corpora.artifacts.arrays import array_path, offsets_of, open_array, write_array

FOLDER = "graph"  # of a corpus
_WEIGHTS = "weights"


@dataclass(frozen=True, eq=False)
class NodeGraph:
    """Nodes by number, each with its neighbors; an undirected edge is there from both sides."""

    offsets: np.ndarray  # int64 (n_nodes + 1,): neighbors of n are neighbors[offsets[n]:...]
    neighbors: np.ndarray  # int32 (n_edges,), ascending for each node
    weights: np.ndarray | None = None  # float32 (n_edges,), above 0; None if all are 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.offsets) - 1

    def renumbered(self, new_ids: np.ndarray) -> "NodeGraph":
        """Return the graph with other numbers for its nodes; those without edges may have -1."""
        # new_ids: int (n_nodes,)
        n_nodes = int(new_ids.max()) + 1
        sources = np.repeat(new_ids.astype(np.int64), np.diff(self.offsets))
        keys = sources * n_nodes + new_ids[self.neighbors]
        order = np.argsort(keys)
        return NodeGraph(
            offsets_of(np.bincount(sources, minlength=n_nodes)),
            (keys[order] % n_nodes).astype(np.int32),
            None if self.weights is None else self.weights[order],
        )

    def save(self, corpus: Path) -> None:
        """Write the arrays into the folder of a corpus."""
        write_array(corpus / FOLDER, "offsets", self.offsets)
        write_array(corpus / FOLDER, "neighbors", self.neighbors)
        if self.weights is not None:
            write_array(corpus / FOLDER, _WEIGHTS, self.weights)

    @classmethod
    def open(cls, corpus: Path) -> Self | None:
        """Open the graph of a corpus of walks; None if the corpus is of text."""
        if not (corpus / FOLDER).is_dir():
            return None
        has_weights = array_path(corpus / FOLDER, _WEIGHTS).is_file()
        weights = open_array(corpus / FOLDER, _WEIGHTS) if has_weights else None
        return cls(
            open_array(corpus / FOLDER, "offsets"),
            open_array(corpus / FOLDER, "neighbors"),
            weights,
        )
