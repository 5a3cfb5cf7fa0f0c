"""Random walks from every node of a graph, in blocks that threads make."""

from collections.abc import Iterator

import numpy as np

from firth.corpora.common.hashing import STRIDE, mix
from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.graphs.walk_kernels import fill_alias_tables, walk
from firth.corpora.graphs.walk_options import WalkOptions

_BLOCK_TOKENS = 1 << 20


class Walker:
    """A graph with what its random walks need; a walk depends on it, the options and its number."""

    def __init__(
        self, graph: NodeGraph, options: WalkOptions, block_tokens: int = _BLOCK_TOKENS
    ) -> None:
        self.graph, self.options = graph, options
        self.walks_at_once = max(1, block_tokens // options.length)
        self._key = mix(np.array([options.seed], np.uint64) + STRIDE)  # scalars warn of overflows
        numbers = np.arange(1, options.rounds + 1, dtype=np.uint64)
        self._round_keys = mix(~self._key + numbers * STRIDE)
        has_edge = np.diff(graph.offsets) > 0
        has_edge[graph.neighbors] = True
        self.nodes = np.flatnonzero(has_edge)  # int64: those that walks reach
        self.n_walks = options.rounds * len(self.nodes)
        weighted = graph.weights is not None  # else the tables are empty
        n_nodes, n_edges = (graph.n_nodes, len(graph.neighbors)) if weighted else (0, 0)
        self._totals, self._limits = np.empty(n_nodes), np.empty(n_edges, np.uint32)
        self._others = np.empty(n_edges, np.int32)
        if weighted:
            fill_alias_tables(
                graph.offsets, graph.weights, self._totals, self._limits, self._others
            )

    def starts(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of the first walk of each block, and its starts, shuffled by round."""
        # yields int64 (n_walks,)
        first, waiting = 0, self.nodes[:0]
        for number, key in enumerate(self._round_keys, 1):
            order = np.argsort(mix(key + self.nodes.astype(np.uint64) * STRIDE))
            waiting = np.concatenate([waiting, self.nodes[order]])
            whole = number < self.options.rounds  # or else the last block is what is left
            while len(waiting) >= (self.walks_at_once if whole else 1):
                yield first, waiting[: self.walks_at_once]
                first += self.walks_at_once
                waiting = waiting[self.walks_at_once :]

    def block(self, first: int, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of walks, int32 (n,), and where each starts and the last ends."""
        graph, options = self.graph, self.options
        ids = np.empty(len(starts) * options.length, np.int32)
        ends = np.zeros(len(starts) + 1, np.int64)
        weights = np.empty(0, np.float32) if graph.weights is None else graph.weights
        walk(
            graph.offsets, graph.neighbors, weights, self._totals, self._limits, self._others,
            starts, first, self._key[0], options.p, options.q, options.length, ids, ends,
        )  # fmt: skip
        return ids[: ends[-1]], ends
