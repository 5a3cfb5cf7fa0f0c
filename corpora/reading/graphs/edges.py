"""Edges as a file gives them, and the graph that they make."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.corpora.graphs.graph import NodeGraph

LEAST, MOST = 1e-30, 1e30  # weights, so that sums are in the range of float32


class _Numbers(dict[str, int]):
    """The nodes by name, numbered as they appear."""

    def __missing__(self, name: str) -> int:
        if not name:
            raise ValueError("a node has an empty name; name it")
        if name.split() != [name]:
            raise ValueError(
                f"the name {name!r} contains white space, which separates tokens; replace it by _, "
                "or drop `walks` if this is text"
            )
        self[name] = number = len(self)
        return number


@dataclass(eq=False)
class Edges:
    """Edges in the order of the file, with self-loops and repeats; nodes by number."""

    numbers: _Numbers = field(default_factory=_Numbers)
    ends: Any = field(default_factory=lambda: array("i"))  # source, target, source, target, ...
    weights: Any = field(default_factory=lambda: array("d"))  # empty without weights
    tally: Counter[str] = field(default_factory=Counter)  # of what is not read as it is

    def add(self, names: Iterable[str], weights: Iterable[str] = ()) -> None:
        """Add edges between each two names; raise ValueError for a name or weight, and add none."""
        values = list(map(_weight, weights))
        self.ends.extend(list(map(self.numbers.__getitem__, names)))
        self.weights.extend(values)


def _weight(text: str) -> float:
    """Return a weight as a number."""
    try:
        weight = float(text)
    except ValueError:
        raise ValueError(f"the weight {text!r} is not a number; correct it") from None
    if not LEAST <= weight <= MOST:  # nor NaN
        raise ValueError(out_of_range(text))
    return weight


def out_of_range(weight: str | float) -> str:
    """Return what is wrong with a weight, and the remedy."""
    return (
        f"the weight {weight} is not between {LEAST:g} and {MOST:g}; correct it, or leave the edge "
        "out"
    )


def connected_nodes(
    edges: Edges, n_nodes: int, directed: bool, name: str
) -> tuple[np.ndarray, NodeGraph, dict[str, int]]:
    """Return the nodes that have an edge, the graph over them, and what was left out or merged.

    Weights of edges that are given several times add up. If an undirected edge is given from both
    sides, the larger weight is taken, since many files give each edge twice.
    """
    ends = np.asarray(edges.ends).reshape(-1, 2)
    proper = ends[:, 0] != ends[:, 1]
    keys = (ends[:, 0] * np.int64(n_nodes) + ends[:, 1])[proper]  # below 2^62
    weights = np.asarray(edges.weights)[proper] if len(edges.weights) else None
    n_given = len(keys)
    if not n_given:
        raise SourceError(f"{name}: has no edge between two nodes; pass a file with edges")
    if weights is not None and weights.min() >= max(1e8, weights.max() / 10):  # seconds since 1973
        edges.tally["times"] = 0 if (weights % 1).any() else n_given
    keys, weights = _merged(keys, weights, np.add)
    n_edges = len(keys)
    if not directed:
        keys = np.concatenate((keys, keys % n_nodes * n_nodes + keys // n_nodes))
        weights = None if weights is None else np.tile(weights, 2)
        keys, weights = _merged(keys, weights, np.maximum)
        if n_edges != len(keys):  # else each is given from both sides
            n_edges = len(keys) // 2
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(keys, n_nodes))
    del keys
    nodes = np.sort(np.concatenate((sources, targets))) if directed else sources
    nodes = nodes[_is_first(nodes)]
    if len(nodes) < n_nodes:
        numbers = (np.searchsorted(nodes, ends) for ends in (sources, targets))
        sources, targets = (ends.astype(np.int32) for ends in numbers)
    graph = NodeGraph(offsets_of(np.bincount(sources, minlength=len(nodes))), targets, weights)
    tally = {
        **edges.tally,
        "isolated_nodes": n_nodes - len(nodes),
        "self_loops": len(proper) - n_given,
        "repeated_edges": n_given - n_edges,
    }
    return nodes, graph, {what: count for what, count in tally.items() if count}


def _merged(
    keys: np.ndarray, weights: np.ndarray | None, together: np.ufunc
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the distinct keys, ascending, and the weights of each taken together."""
    # keys: int64 (n,), whose order may change; weights: float64 or float32 (n,); returns float32
    if weights is None:
        keys.sort()
        return keys[_is_first(keys)], None  # np.unique takes many times as long
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = _is_first(keys)
    weights = together.reduceat(weights[order], np.flatnonzero(first))
    return keys[first], weights.astype(np.float32)


def _is_first(ascending: np.ndarray) -> np.ndarray:
    """Return which numbers differ from the one before, bool (n,)."""
    first = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first
