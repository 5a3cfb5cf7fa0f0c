"""Edges that are held out of a graph, and as many pairs of nodes without an edge."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SettingError
from firth.corpora.graphs.graph import NodeGraph


def hold_out_links(
    graph: NodeGraph, share: float, seed: int, directed: bool
) -> tuple[NodeGraph, np.ndarray, np.ndarray]:
    """Return the graph without a share of its edges, these, and as many pairs without an edge.

    Nodes that are connected stay connected, directions aside: the edges of a random spanning forest
    are not held out, which may leave fewer than the share. The pairs are drawn uniformly from those
    without an edge in the whole graph. An undirected edge has the smaller node first.
    """
    # returns int64 (n, 2) twice
    random = np.random.default_rng(seed)
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.offsets))
    places = np.arange(len(rows)) if directed else np.flatnonzero(graph.neighbors < rows)
    nodes = rows[places], graph.neighbors[places].astype(np.int64)
    optional = np.flatnonzero(~_spanning_forest(*nodes, graph.n_nodes, random))
    n_held_out = min(round(share * len(places)), len(optional))
    held_out = np.sort(random.choice(optional, n_held_out, replace=False, shuffle=False))
    remaining = np.ones(len(rows), bool)
    remaining[places[held_out]] = False
    if not directed:  # places the other way round, in the same order
        mirrored = np.flatnonzero(graph.neighbors > rows)
        mirrored = mirrored[np.argsort(graph.neighbors[mirrored], kind="stable")]
        remaining[mirrored[held_out]] = False
    absent = absent_pairs(*nodes, graph.n_nodes, n_held_out, random, directed)
    rest = NodeGraph(
        offsets_of(np.bincount(rows[remaining], minlength=graph.n_nodes)),
        graph.neighbors[remaining],
        None if graph.weights is None else graph.weights[remaining],
    )
    pairs = np.stack(nodes, axis=1)[held_out]
    return rest, pairs if directed else pairs[:, ::-1], absent


def _spanning_forest(
    rows: np.ndarray, columns: np.ndarray, n_nodes: int, random: np.random.Generator
) -> np.ndarray:
    """Return which edges are in a random spanning forest, bool (n_edges,)."""
    from scipy.sparse import csgraph, csr_array  # lazy: walks do without them

    order = random.permutation(len(rows))
    weights = csr_array((order + 1.0, (rows, columns)), shape=(n_nodes, n_nodes))
    forest = csgraph.minimum_spanning_tree(weights)
    in_forest = np.zeros(len(rows), bool)
    in_forest[forest.data.astype(np.int64) - 1] = True
    return in_forest[order]


def absent_pairs(
    rows: np.ndarray,
    columns: np.ndarray,
    n_nodes: int,
    n: int,
    random: np.random.Generator,
    directed: bool,
) -> np.ndarray:
    """Return distinct pairs of nodes without an edge, drawn uniformly, int64 (n, 2)."""
    # all pairs but loops are numbered: directed ones by row, undirected ones (column < row) as a
    # triangle
    if directed:
        numbers, n_pairs = (
            rows * (n_nodes - 1) + columns - (columns > rows),
            n_nodes * (n_nodes - 1),
        )
    else:
        numbers, n_pairs = rows * (rows - 1) // 2 + columns, n_nodes * (n_nodes - 1) // 2
    n_absent = n_pairs - len(numbers)
    if n > n_absent:
        raise SettingError(
            f"the graph has {n_absent:,} pairs of nodes without an edge, but {n:,} edges are held "
            "out; hold out fewer"
        )
    drawn = np.sort(random.choice(n_absent, n, replace=False, shuffle=False))
    # the number of a pair is its rank among those without an edge plus the edges before it
    drawn += np.searchsorted(numbers - np.arange(len(numbers)), drawn, side="right")
    if directed:
        first, second = np.divmod(drawn, n_nodes - 1)
        return np.stack((first, second + (second >= first)), axis=1)
    second = ((1 + np.sqrt(8.0 * drawn + 1)) / 2).astype(np.int64)  # rounded: may be off by one
    second -= second * (second - 1) // 2 > drawn
    second += second * (second + 1) // 2 <= drawn
    return np.stack((drawn - second * (second - 1) // 2, second), axis=1)


def write_links(path: Path, names: Sequence[str], held_out: np.ndarray, absent: np.ndarray) -> None:
    """Write edges and pairs without one as TSV, with 1 and 0 in its column link, by node."""
    # held_out, absent: int64 (n, 2)
    pairs = np.concatenate((held_out, absent))
    links = np.repeat((1, 0), (len(held_out), len(absent)))
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("source\ttarget\tlink\n")
        for (source, target), link in zip(
            pairs[order].tolist(), links[order].tolist(), strict=True
        ):
            file.write(f"{names[source]}\t{names[target]}\t{link}\n")
