"""Reads a graph from a file, whose format is recognized by content."""

from collections.abc import Iterator
from dataclasses import dataclass

from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.reading.decoding import checked_utf8
from firth.corpora.reading.graphs.edge_lists import read_edge_list
from firth.corpora.reading.graphs.edges import connected
from firth.corpora.reading.line_ends import after_line_end, cut_blocks
from firth.corpora.reading.sources import SourceFile, Stream
from firth.corpora.reading.text_blocks import BLOCK_BYTES, ReadOptions


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
    stream = Stream(file, options or ReadOptions(), BLOCK_BYTES)
    edges = read_edge_list(_texts(stream, options or ReadOptions()), file.name, weighted)
    names = list(edges.numbers)
    nodes, graph, tally = connected(edges, len(names), directed, file.name)
    return GraphFile([names[node] for node in nodes], graph, tally)


def _texts(stream: Stream, options: ReadOptions) -> Iterator[tuple[int, str]]:
    """Yield texts of whole lines, each with its first line number."""
    for line, data in cut_blocks(stream.text(), after_line_end, BLOCK_BYTES):
        data, replaced = checked_utf8(data, stream.name, line, options.errors)
        stream.add_replaced(replaced)
        yield line, data.decode()
