"""Random walks over a graph: uniform, by the weights of edges, or biased as by node2vec.

Grover and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks" (KDD), section 3.2.
"""

import numpy as np

from firth.corpora.common.alias_kernels import fill_columns
from firth.corpora.common.hashing import STRIDE
from firth.corpora.common.hashing_kernels import mix
from firth.corpora.common.jit import compiled

_WHOLE = 4294967296.0  # 2^32
_AT_ONCE = 32  # walks that take turns, so that the memory is read for several at the same time


@compiled
def fill_alias_tables(offsets, weights, totals, limits, others):
    """Fill an alias table for the edges of each node, and the sums of their weights."""
    # offsets: int64 (n_nodes + 1,); weights: float32 (n_edges,)
    # totals: float64 (n_nodes,); limits: uint32 (n_edges,); others: int32 (n_edges,), from the
    # first edge of the node: output
    for node in range(totals.shape[0]):
        start, stop = offsets[node], offsets[node + 1]
        total = 0.0
        for edge in range(start, stop):
            total += weights[edge]
        totals[node] = total
        masses = np.empty(stop - start, np.float64)
        for i in range(stop - start):
            masses[i] = weights[start + i] * (stop - start) / total
            limits[start + i], others[start + i] = np.uint32(0xFFFFFFFF), i
        capacities = np.ones(stop - start, np.int64)
        fill_columns(masses, capacities, limits[start:stop], others[start:stop])


@compiled(inline="always")
def _uniform(state):
    """Return a number from 0 to less than 1."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53


@compiled(inline="always")
def _draw_edge(start, stop, limits, others, number):
    """Return an edge of a node, in proportion to its weight, by a number from 0 to 1."""
    position = number * (stop - start)
    column = np.int64(position)
    if limits.shape[0] and (position - column) * _WHOLE >= limits[start + column]:
        return start + others[start + column]
    return start + column


@compiled
def _find(neighbors, start, stop, node):
    """Return the edge to a node among those of another; -1 if there is none."""
    size = stop - start
    while size > 1:
        half = size // 2
        start += half * (neighbors[start + half - 1] < node)  # no branch to predict
        size -= half
    return start if size == 1 and neighbors[start] == node else -1


@compiled
def _bias(offsets, neighbors, before, node, p, q):
    """Return the factor of a step to a node, after the step from the one before."""
    if node == before:
        return 1.0 / p
    known = _find(neighbors, offsets[before], offsets[before + 1], node) >= 0
    return 1.0 if known else 1.0 / q


@compiled
def _draw_biased(offsets, neighbors, weights, totals, limits, others, before, node, p, q, state):
    """Return an edge of a node in proportion to weight times bias, and the state after it."""
    start, stop = offsets[node], offsets[node + 1]
    # Rejection (Yang et al. 2019, "KnightKing", SOSP): the area under ``most`` has all edges; the
    # one back, which may rise far above it, has its rest beside it.
    least, most, excess, back = min(1.0, 1.0 / q), max(1.0, 1.0 / q), 0.0, -1
    if 1.0 / p > most:
        back = _find(neighbors, start, stop, before)
        if back >= 0:
            excess = (1.0 / p - most) * (weights[back] if weights.shape[0] else 1.0)
    area = most * (totals[node] if weights.shape[0] else stop - start) + excess
    for _ in range(stop - start):  # more attempts would take longer than to weigh every edge
        if excess > 0.0:
            state += STRIDE
            if _uniform(state) * area < excess:
                return back, state
        state += STRIDE
        edge = _draw_edge(start, stop, limits, others, _uniform(state))
        state += STRIDE
        height = _uniform(state) * most
        if height < least and neighbors[edge] != before:
            return edge, state
        if height < _bias(offsets, neighbors, before, neighbors[edge], p, q):
            return edge, state
    chosen, total = start, 0.0
    for edge in range(start, stop):  # each takes the place of the one chosen by its share so far
        share = _bias(offsets, neighbors, before, neighbors[edge], p, q)
        share *= weights[edge] if weights.shape[0] else 1.0
        total += share
        state += STRIDE
        if _uniform(state) * total < share:
            chosen = edge
    return chosen, state


@compiled
def walk(
    offsets, neighbors, weights, totals, limits, others, starts, first, key, p, q, length, ids, ends
):
    """Write a walk of ``length`` nodes or less from each start, by a random stream of its own."""
    # offsets, neighbors, weights: of a NodeGraph; totals, limits, others: of fill_alias_tables
    # weights, totals, limits and others are empty if all edges weigh the same
    # starts: int64 (n_walks,); first: int64, number of the first walk; key: uint64
    # ids: int32 (n_walks * length,); ends: int64 (n_walks + 1,), ends[0] is 0: output
    n_walks, n = starts.shape[0], 0
    states = np.empty(n_walks, np.uint64)
    for w in range(n_walks):
        states[w] = mix(key + np.uint64(first + w + 1) * STRIDE)
        ids[w * length], ends[w + 1] = starts[w], 1
    for group in range(0, n_walks, _AT_ONCE):
        for i in range(1, length):
            for w in range(group, min(group + _AT_ONCE, n_walks)):
                if ends[w + 1] < i:  # has ended
                    continue
                last = w * length + i - 1
                node, edge = ids[last], 0
                start, stop = offsets[node], offsets[node + 1]
                if start == stop:
                    continue
                if stop - start == 1:
                    edge = start
                elif i == 1 or (p == 1.0 and q == 1.0):
                    states[w] += STRIDE
                    edge = _draw_edge(start, stop, limits, others, _uniform(states[w]))
                else:
                    edge, states[w] = _draw_biased(
                        offsets, neighbors, weights, totals, limits, others, ids[last - 1], node,
                        p, q, states[w],
                    )  # fmt: skip
                ids[last + 1] = neighbors[edge]
                ends[w + 1] += 1
    for w in range(n_walks):  # close the gaps
        for i in range(ends[w + 1]):
            ids[n + i] = ids[w * length + i]
        n += ends[w + 1]
        ends[w + 1] = n
