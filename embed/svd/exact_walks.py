"""The PPMI matrix of an endless random walk on a graph, without walks.

Qiu, Dong, Ma, Li, Wang and Tang 2018, "Network embedding as matrix factorization: unifying
DeepWalk, LINE, PTE, and node2vec" (WSDM; arXiv:1710.02971). With A the adjacency matrix, D the
degrees and P = D^-1 A, a pair of nodes at distance r of the walk is expected D P^r times. Each row
of the sum over r is dense, but sums of rows and columns are known before, so that only positive
PMI is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from firth.corpora.common.console import human
from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import Progress
from firth.corpora.graphs.graph import NodeGraph
from firth.embed.svd.ppmi import keep_of_shares
from firth.embed.svd.product_kernels import WIDTH
from firth.embed.svd.row_writer import RowWriter
from firth.embed.svd.sparse_products import cpu_operations
from firth.embed.svd.window_weights import window_weights

ENTRY_BYTES = 8
_SAMPLE = 8 * WIDTH  # rows from which the number of entries is estimated


def walk_matrix(
    graph: NodeGraph, nodes: np.ndarray, config: Any, *,
    memory: int, directory: Path | None, progress: Progress,
) -> Any:  # fmt: skip
    """Return the shifted positive PMI as ``weigh`` does; raise if it would exceed ``memory``."""
    # nodes: int64 (V,), of the rows; config: an SvdConfig
    # returns scipy.sparse.csr_matrix, float32 (V, V), columns ascending
    edges = _adjacency(graph)
    degrees = np.asarray(edges.sum(axis=1))
    weights, _ = window_weights(config.window, config.window_weighting)
    with np.errstate(divide="ignore"):  # nodes without edges
        shares = degrees[nodes] / degrees.sum()
        keep = keep_of_shares(shares, config.subsample)
        edges.data /= np.repeat(degrees, np.diff(edges.indptr))
        zeros = np.zeros(len(degrees))
        totals = keep * degrees[nodes] * _expected(edges.dot, zeros, nodes, keep, weights)[nodes]
        smoothed = np.where(totals > 0, totals, np.inf) ** -config.context_smoothing
        by_context = degrees[nodes] * keep * smoothed * (1 / smoothed[totals > 0]).sum()
        by_row = np.where(totals > 0, keep / totals, 0.0) / config.shift
    by_context, by_row = by_context.astype(np.float32), by_row.astype(np.float32)
    with cpu_operations(edges.astype(np.float32), config.threads) as operations:

        def blocks(rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            for first in range(0, len(rows), WIDTH):
                part = rows[first : first + WIDTH]
                zeros = np.zeros((len(degrees), WIDTH), np.float32)
                places = nodes[part], np.arange(len(part))
                # columns of the sum of P^r: times the degrees it is symmetric, so they are rows
                ratios = _expected(operations.multiply, zeros, places, 1.0, weights)[
                    nodes, : len(part)
                ]
                ratios *= by_context[:, None]
                ratios *= by_row[part]
                of_row, columns = np.nonzero((ratios > 1).T)
                lengths = np.bincount(of_row, minlength=len(part))
                yield columns.astype(np.int32), np.log(ratios[columns, of_row]), lengths

        sample = np.unique(np.linspace(0, len(nodes) - 1, _SAMPLE).astype(np.int64))
        sampled = sum(len(columns) for columns, _, _ in blocks(sample))
        require_memory(sampled * len(nodes) // len(sample), memory)
        writer = RowWriter(np.float32, len(nodes) ** 2, memory // ENTRY_BYTES, directory)
        done = 0
        for columns, values, lengths in blocks(np.arange(len(nodes))):
            writer.append(columns, values, lengths)
            done += len(lengths)
            progress(done, len(nodes))
    starts, columns, values = writer.finish()
    return sp.csr_matrix((values, columns, starts), shape=(len(nodes), len(nodes)), copy=False)


def _adjacency(graph: NodeGraph) -> Any:
    """Return the weights of the edges, float64 CSR; raise if some go one way only."""
    values = np.ones(len(graph.neighbors)) if graph.weights is None else graph.weights
    n = graph.n_nodes
    edges: Any = sp.csr_array(
        (values.astype(np.float64), graph.neighbors, graph.offsets), shape=(n, n)
    )
    if (edges != edges.T).nnz:
        raise SettingError(
            "`exact_walks=True`: the graph has edges that go one way; pass a corpus of an "
            "undirected graph, or leave it out"
        )
    return edges


def _expected(
    step: Callable[[Any], Any], total: Any, places: Any, values: Any, weights: Sequence[int]
) -> Any:
    """Return the sum of weight r times P^r times values at places, from zeros, by Horner's rule."""
    for weight in reversed(weights[1:]):
        total[places] += weight * values
        total = step(total)
    return total


def require_memory(entries: int, memory: int) -> None:
    """Raise if a matrix of so many entries exceeds the memory."""
    if entries * ENTRY_BYTES > memory:
        raise SettingError(
            f"`exact_walks=True`: the matrix has about {human(entries)} entries, which take "
            f"{human(entries * ENTRY_BYTES)}B of the {human(memory)}B there are; pass a smaller "
            "`window` or more `memory`, or leave it out to count the walks"
        )
