"""Reads a graph from a file, whose format is recognized by content."""

from collections.abc import Iterator
from dataclasses import dataclass

from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.reading.decoding import checked_utf8
from firth.corpora.reading.graphs.edge_lists import read_edge_list
from firth.corpora.reading.graphs.edges import connected_nodes
from firth.corpora.reading.line_ends import after_line_end, cut_blocks
from firth.corpora.reading.sources import SourceFile, Stream
from firth.corpora.reading.text_blocks import ReadOptions

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class GraphFile:
    """The graph of a file, over the nodes that have an edge."""

    names: list[str]  # of the nodes, in the order of their first appearance
    graph: NodeGraph
    # what was left out or merged: isolated_nodes, self_loops, repeated_edges, if above 0
    tally: dict[str, int]


def read_graph(
    file: SourceFile, *, directed: bool, weighted: bool, options: ReadOptions | None = None
) -> GraphFile:
    """Read an edge list, adjacency list, GraphML or SciPy sparse matrix, maybe compressed.

    Of the options only the encoding and its errors count.
    """
    options = options or ReadOptions()
    texts = _texts(Stream(file, options, _BLOCK_BYTES), options)
    edges = read_edge_list(texts, file.name, weighted)
    names = list(edges.numbers)
    nodes, graph, tally = connected_nodes(edges, len(names), directed, file.name)
    return GraphFile([names[node] for node in nodes.tolist()], graph, tally)


def _texts(stream: Stream, options: ReadOptions) -> Iterator[tuple[int, str]]:
    """Yield texts of whole lines, each with its first line number."""
    for line, data in cut_blocks(stream.text(), after_line_end, _BLOCK_BYTES):
        yield line, checked_utf8(data, stream.name, line, options.errors)[0].decode()
