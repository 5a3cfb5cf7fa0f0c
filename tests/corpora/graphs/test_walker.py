"""Random walks: the bytes of a slow twin, and the probabilities of the formula."""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import chi2

from firth.corpora.common.errors import SettingError
from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.graphs.walker import Walker

MASK = 2**64 - 1
STRIDE = 0x9E3779B97F4A7C15


def random_graph(n_nodes, n_edges, *, directed=False, weighted=False, seed=1):
    """Return a random graph in which the last node has no edges."""
    rng = np.random.default_rng(seed)
    edges = {}
    while len(edges) < n_edges:
        a, b = map(int, rng.integers(0, n_nodes - 1, 2))
        if a != b and (a, b) not in edges:
            edges[a, b] = float(np.float32(rng.exponential() + 0.05)) if weighted else 1.0
            if not directed:
                edges[b, a] = edges[a, b]
    rows = [sorted(b for a, b in edges if a == node) for node in range(n_nodes)]
    weights = [edges[a, b] for a, row in enumerate(rows) for b in row]
    return NodeGraph(
        np.cumsum([0, *map(len, rows)]),
        np.array([b for row in rows for b in row], np.int32),
        np.array(weights, np.float32) if weighted else None,
    )


def probabilities(graph, before, node, p, q):
    """The formula of Grover and Leskovec, word for word."""
    row = {}
    for edge in range(graph.offsets[node], graph.offsets[node + 1]):
        after = int(graph.neighbors[edge])
        row[after] = 1.0 if graph.weights is None else float(graph.weights[edge])
        if before is not None and after == before:
            row[after] /= p
        elif before is not None and after not in neighbors_of(graph, before):
            row[after] /= q
    total = sum(row.values())
    return {after: weight / total for after, weight in row.items()}


def neighbors_of(graph, node):
    """The neighbors of a node as a list."""
    return graph.neighbors[graph.offsets[node] : graph.offsets[node + 1]].tolist()


def mix(value):
    """SplitMix64 on Python's integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


class Stream:
    """The random numbers of one walk."""

    def __init__(self, key, number):
        self.state = mix((key + (number + 1) * STRIDE) & MASK)

    def uniform(self):
        """Return the next number from 0 to 1."""
        self.state = (self.state + STRIDE) & MASK
        return (mix(self.state) >> 11) / 2**53


def naive_walks(graph, options):
    """Walks of a graph without weights, by the same numbers; slow on purpose."""
    key = mix((options.seed + STRIDE) & MASK)
    nodes = [
        n for n in range(graph.n_nodes) if neighbors_of(graph, n) or n in graph.neighbors.tolist()
    ]
    number, walks = 0, []
    for r in range(1, options.rounds + 1):
        round_key = mix(((~key & MASK) + r * STRIDE) & MASK)
        for node in sorted(nodes, key=lambda n: mix((round_key + n * STRIDE) & MASK)):
            walks.append(naive_walk(graph, node, options, Stream(key, number)))
            number += 1
    return walks


def naive_walk(graph, node, options, stream):
    """One walk."""
    nodes = [node]
    while len(nodes) < options.length and (row := neighbors_of(graph, nodes[-1])):
        before = nodes[-2] if len(nodes) > 1 else None
        if len(row) == 1:
            nodes.append(row[0])
        elif before is None or (options.p, options.q) == (1, 1):
            nodes.append(row[int(stream.uniform() * len(row))])
        else:
            nodes.append(naive_step(graph, before, row, options, stream))
    return nodes


def naive_step(graph, before, row, options, stream):
    """A biased step: by rejection, or by all weights after as many attempts as there are edges."""
    known = neighbors_of(graph, before)
    bias = [1 / options.p if x == before else 1.0 if x in known else 1 / options.q for x in row]
    most = max(1.0, 1 / options.q)
    excess = max(0.0, 1 / options.p - most) if before in row else 0.0
    for _ in row:
        if excess and stream.uniform() * (most * len(row) + excess) < excess:
            return before
        x = int(stream.uniform() * len(row))
        if stream.uniform() * most < bias[x]:
            return row[x]
    chosen, total = None, 0.0
    for x, share in zip(row, bias, strict=True):
        total += share
        if stream.uniform() * total < share:
            chosen = x
    return chosen


def all_walks(graph, options, threads=1, **about):
    """Return the walks of a graph as lists."""
    walker = Walker(graph, options, **about)
    with ThreadPoolExecutor(threads) as pool:
        blocks = list(pool.map(lambda block: walker.block(*block), walker.starts()))
    return [ids[a:b].tolist() for ids, ends in blocks for a, b in itertools.pairwise(ends.tolist())]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4), (4, 0.5), (0.01, 100), (100, 0.01)])
def test_walks_are_those_of_the_slow_twin(p, q, directed):
    graph = random_graph(20, 40, directed=directed)
    options = WalkOptions(walks="3x12", p=p, q=q, directed=directed, seed=5)

    walks = all_walks(graph, options)

    assert walks == naive_walks(graph, options)
    assert all(19 not in walk for walk in walks)  # a node without edges
    assert (min(map(len, walks)) < 12) == directed  # where no edge leads on


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_depend_on_neither_blocks_nor_threads(weighted):
    graph = random_graph(50, 200, weighted=weighted)
    options = WalkOptions(walks="4x10", p=0.5, q=2, weighted=weighted)
    alone = all_walks(graph, options)

    assert all_walks(graph, options, threads=3, block_tokens=70) == alone
    assert all_walks(graph, options, block_tokens=1) == alone
    other = WalkOptions(walks="4x10", p=0.5, q=2, weighted=weighted, seed=2)
    assert all_walks(graph, other) != alone


def test_each_round_starts_at_every_node_in_another_order():
    graph = random_graph(30, 60)
    starts = [walk[0] for walk in all_walks(graph, WalkOptions(walks="2x3"))]
    first, second = starts[: len(starts) // 2], starts[len(starts) // 2 :]

    assert sorted(first) == sorted(second) == sorted(set(graph.neighbors.tolist()))
    assert first != sorted(first)
    assert first != second


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("p", "q"), [(1, 1), (1, 0.5), (0.25, 4), (4, 0.25), (0.01, 0.01), (100, 100), (0.01, 100)]
)
def test_steps_have_the_probabilities_of_the_formula(p, q, weighted, directed):
    # one chi-square test over all (before, node): a false alarm has a chance of 1e-6 per case
    graph = random_graph(9, 30 if directed else 40, directed=directed, weighted=weighted, seed=3)
    options = WalkOptions(walks="1500x12", p=p, q=q, directed=directed, weighted=weighted)
    steps = {}
    for walk in all_walks(graph, options):
        for before, node, after in zip([None, *walk], walk, walk[1:], strict=False):
            steps.setdefault((before, node), Counter())[after] += 1

    observed, expected, n_constraints = [], [], 0
    for (before, node), seen in steps.items():
        chances = probabilities(graph, before, node, p, q)
        n = seen.total()
        assert set(seen) <= set(chances)
        common = [x for x, chance in chances.items() if chance * n >= 5]
        observed += [seen[x] for x in common]
        expected += [chances[x] * n for x in common]
        rare = [x for x in chances if x not in common]
        if sum(chances[x] for x in rare) * n >= 5:
            observed.append(sum(seen[x] for x in rare))
            expected.append(sum(chances[x] for x in rare) * n)
        n_constraints += 1
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    freedom = len(observed) - n_constraints
    assert freedom > 30
    assert chi2.sf(statistic, freedom) > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"walks": "10"}, "walks must be numbers of walks and of their nodes"),
        ({"walks": "0x80"}, "got '0x80'"),
        ({"walks": "10x1"}, "got '10x1'"),
        ({"walks": "10x1000000"}, "below a million"),
        ({"walks": "10x80", "p": 0}, "WalkOptions.p must be above 0"),
        ({"walks": "10x80", "q": -1.0}, "WalkOptions.q must be above 0"),
        ({"walks": "10x80", "p": float("nan")}, "WalkOptions.p must be above 0"),
        ({"walks": "10x80", "q": float("inf")}, "WalkOptions.q must be a finite number"),
        ({"walks": "10x80", "hold_out_links": 1.0}, "hold_out_links must be below 1"),
        ({"q": 0.5}, "`q=0.5`: applies to graphs, which `walks` reads; leave it out"),
        (
            {"directed": True},
            "`directed=True`: applies to graphs, which `walks` reads; leave it out",
        ),
    ],
    ids=str,
)
def test_refuses(options, message):
    with pytest.raises(SettingError) as refused:
        WalkOptions(**options)
    assert message in str(refused.value)
