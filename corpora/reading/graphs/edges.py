"""Edges as a file gives them, and the graph that they make."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.corpora.graphs.graph import NodeGraph

LEAST_WEIGHT, MOST_WEIGHT = 1e-30, 1e30  # so that no sum leaves the range of float32


class _Numbers(dict[str, int]):
    """The nodes by name, numbered as they appear."""

    def __missing__(self, name: str) -> int:
        if name.split() != [name]:
            raise ValueError(
                f"the name {name!r} contains white space, which separates tokens; replace it by _"
                if name
                else "a node has an empty name; name it"
            )
        self[name] = number = len(self)
        return number


@dataclass(eq=False)
class Edges:
    """Edges in the order of the file, with self-loops and repeats; nodes by number."""

    numbers: _Numbers = field(default_factory=_Numbers)
    sources: Any = field(default_factory=lambda: array("i"))
    targets: Any = field(default_factory=lambda: array("i"))
    weights: Any = field(default_factory=lambda: array("d"))  # empty without weights

    def add(self, source: str, target: str, weight: str | None = None) -> None:
        """Add an edge; raise ValueError for a name or weight that cannot be used."""
        if weight is not None:
            self.weights.append(_weight(weight))
        self.sources.append(self.numbers[source])
        self.targets.append(self.numbers[target])


def _weight(text: str) -> float:
    """Return a weight as a number."""
    try:
        weight = float(text)
    except ValueError:
        raise ValueError(f"the weight {text!r} is not a number; correct it") from None
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:  # nor NaN
        raise ValueError(
            f"the weight {text} is not between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}; correct it, "
            "or leave the edge out"
        )
    return weight


def connected(
    edges: Edges, n_nodes: int, directed: bool, name: str
) -> tuple[Sequence[int], NodeGraph, dict[str, int]]:
    """Return the nodes that have an edge, the graph over them, and what was left out or merged.

    Weights of edges that are given several times add up. If an undirected edge is given from both
    sides, the larger weight is taken, since many files give each edge twice.
    """
    sources, targets = (np.asarray(ends, np.int64) for ends in (edges.sources, edges.targets))
    proper = sources != targets
    keys = (sources * n_nodes + targets)[proper]  # below 2^62
    weights = np.asarray(edges.weights)[proper] if len(edges.weights) else None
    n_given = len(keys)
    if not n_given:
        raise SourceError(f"{name}: has no edge between two nodes; pass a file with edges")
    del sources, targets
    keys, weights = _merged(keys, weights, np.add)
    n_edges = len(keys)
    if not directed:
        keys = np.concatenate((keys, keys % n_nodes * n_nodes + keys // n_nodes))
        weights = None if weights is None else np.tile(weights.astype(np.float32), 2)
        keys, weights = _merged(keys, weights, np.maximum)
        if n_edges != len(keys):  # else each is given from both sides
            n_edges = len(keys) // 2
    rows, columns = np.divmod(keys, n_nodes)
    del keys
    nodes = np.unique(rows if not directed else np.concatenate((rows, columns)))
    if len(nodes) < n_nodes:
        rows, columns = np.searchsorted(nodes, rows), np.searchsorted(nodes, columns)
    graph = NodeGraph(
        offsets_of(np.bincount(rows, minlength=len(nodes))),
        columns.astype(np.int32),
        None if weights is None else weights.astype(np.float32),
    )
    tally = {
        "isolated_nodes": n_nodes - len(nodes),
        "self_loops": len(proper) - n_given,
        "repeated_edges": n_given - n_edges,
    }
    return nodes.tolist(), graph, {what: count for what, count in tally.items() if count}


def _merged(
    keys: np.ndarray, weights: np.ndarray | None, together: np.ufunc
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the distinct keys, ascending, and the weights of each taken together."""
    # keys: int64 (n,); weights: float (n,)
    if weights is None:
        return np.unique(keys), None
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], together.reduceat(weights[order], starts)
