"""Links that are held out of a graph."""

import itertools
from collections import Counter

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.graphs.links import absent_pairs, hold_out_links, write_links


def graph_of(edges, n_nodes):
    """A graph with these directed edges; the weight of each is made of its ends."""
    edges = np.array(sorted(edges)).reshape(-1, 2)
    offsets = np.searchsorted(edges[:, 0], np.arange(n_nodes + 1))
    weights = (edges.min(axis=1) * n_nodes + edges.max(axis=1) + 1).astype(np.float32)
    return NodeGraph(offsets, edges[:, 1].astype(np.int32), weights)


def edges_in(graph):
    """The directed edges of a graph as a set."""
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.offsets))
    return set(zip(rows.tolist(), graph.neighbors.tolist(), strict=True))


def components(edges, n_nodes):
    """The sets of nodes that are connected, directions aside, by the definition."""
    sets = {node: frozenset([node]) for node in range(n_nodes)}
    for source, target in edges:
        joined = sets[source] | sets[target]
        sets.update(dict.fromkeys(joined, joined))
    return set(sets.values())


def as_set(pairs):
    """Pairs of nodes as a set; none is there twice."""
    assert pairs.dtype == np.int64
    assert pairs.shape[1] == 2
    distinct = set(map(tuple, pairs.tolist()))
    assert len(distinct) == len(pairs)
    return distinct


def random_graph(n_nodes, n_edges, directed, seed=0):
    """A graph of two parts, with its edges."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_nodes // 2, size=(n_edges, 2)) * 2 + rng.integers(0, 2, (n_edges, 1))
    edges = {(a, b) for a, b in ends.tolist() if a != b}
    if not directed:
        edges |= {(b, a) for a, b in edges}
    return graph_of(edges, n_nodes), edges


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n_edges", [60, 120, 500])
def test_held_out_edges_split_nothing_and_absent_pairs_are_no_edges(n_edges, directed):
    graph, edges = random_graph(40, n_edges, directed)

    rest, held_out, absent = hold_out_links(graph, 0.3, 1, directed)

    held_out, absent, remaining = as_set(held_out), as_set(absent), edges_in(rest)
    both = held_out if directed else held_out | {pair[::-1] for pair in held_out}
    assert remaining == edges - both
    assert both <= edges
    np.testing.assert_array_equal(rest.weights, graph_of(remaining, 40).weights)
    assert components(remaining, 40) == components(edges, 40)
    assert len(absent) == len(held_out)
    assert not absent & edges
    assert all(a != b if directed else a < b for a, b in absent | held_out)
    n_unique = len(edges) if directed else len(edges) // 2
    needed = 40 - len(components(edges, 40))
    assert len(held_out) == min(round(0.3 * n_unique), n_unique - needed)


def test_a_tree_keeps_all_its_edges():
    edges = {(node // 2, node) for node in range(1, 30)}
    graph = graph_of(edges | {(b, a) for a, b in edges}, 30)
    rest, held_out, absent = hold_out_links(graph, 0.5, 1, directed=False)
    assert edges_in(rest) == edges_in(graph)
    assert held_out.shape == absent.shape == (0, 2)


def test_a_seed_gives_the_same_links_and_another_one_others():
    graph, _ = random_graph(60, 300, directed=False)
    first, again, other = (hold_out_links(graph, 0.2, seed, False) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[1], again[1])
    np.testing.assert_array_equal(first[2], again[2])
    assert as_set(first[1]) != as_set(other[1])
    assert as_set(first[2]) != as_set(other[2])


@pytest.mark.parametrize("directed", [False, True])
def test_all_absent_pairs_of_a_nearly_complete_graph_can_be_drawn(directed):
    pairs = set(itertools.permutations(range(9), 2))
    missing = {(0, 1), (1, 0), (3, 7), (7, 3), (7, 8), (8, 7)}
    graph = graph_of(pairs - missing, 9)
    n_absent = 6 if directed else 3
    n_edges = 72 - 6 if directed else 36 - 3

    *_, absent = hold_out_links(graph, n_absent / n_edges, 1, directed)

    assert as_set(absent) == {pair for pair in missing if directed or pair[0] < pair[1]}
    with pytest.raises(SettingError) as caught:
        hold_out_links(graph, (n_absent + 1) / n_edges, 1, directed)
    assert str(caught.value) == (
        f"the graph has {n_absent} pairs of nodes without an edge, but {n_absent + 1} edges are "
        "held out; hold out fewer"
    )


@pytest.mark.parametrize("directed", [False, True])
def test_absent_pairs_are_drawn_uniformly(directed):
    graph, edges = random_graph(8, 14, directed, seed=2)
    draws = [hold_out_links(graph, 0.2, seed, directed) for seed in range(600)]
    counts = Counter(itertools.chain.from_iterable(map(as_set, (absent for *_, absent in draws))))
    pairs = (itertools.permutations if directed else itertools.combinations)(range(8), 2)
    assert counts.keys() == set(pairs) - edges
    mean = counts.total() / len(counts)
    # 6.5 standard deviations: a chance below 1e-8 for each of at most 56 pairs
    assert max(abs(count - mean) for count in counts.values()) < 6.5 * mean**0.5


def test_numbers_of_pairs_are_exact_for_many_nodes():
    n = 2**31 - 1
    ring = np.array([0, 1, 2, n - 3, n - 2, n - 1])
    edges = {(int(a), int(b)) for a, b in itertools.permutations(ring, 2)}
    rows = np.array(sorted(edges))
    for directed in (False, True):
        ends = rows if directed else rows[rows[:, 1] < rows[:, 0]]
        drawn = absent_pairs(*ends.T, n, 2000, np.random.default_rng(1), directed)
        found = as_set(drawn)
        assert not found & edges
        assert drawn.min() >= 0
        assert drawn.max() < n
        assert all(a != b if directed else a < b for a, b in found)


def test_links_are_written_by_node(tmp_path):
    held_out, absent = np.array([[1, 2], [0, 1]]), np.array([[1, 0], [0, 2]])
    write_links(tmp_path / "links.tsv", ["a", "é", "c"], held_out, absent)
    assert (tmp_path / "links.tsv").read_bytes().decode() == (
        "source\ttarget\tlink\na\té\t1\na\tc\t0\né\ta\t0\né\tc\t1\n"
    )
