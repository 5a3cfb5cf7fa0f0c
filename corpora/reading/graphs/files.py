"""Reads a graph from a file, whose format is recognized by content."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.reading.decoding import checked_utf8
from firth.corpora.reading.graphs.edge_lists import read_edge_list
from firth.corpora.reading.graphs.edges import connected_nodes
from firth.corpora.reading.graphs.graphml import read_graphml
from firth.corpora.reading.graphs.matrices import NPZ_HEAD, read_matrix
from firth.corpora.reading.line_ends import after_line_end, cut_blocks
from firth.corpora.reading.sources import SourceFile, Stream
from firth.corpora.reading.text_blocks import ReadOptions

_BLOCK_BYTES = 1 << 20
_XML = re.compile(r"\s*<(?:[?!]|graphml\b)")


@dataclass(frozen=True, eq=False)
class GraphFile:
    """The graph of a file, over the nodes that have an edge."""

    names: list[str]  # of the nodes, in the order of their first appearance
    graph: NodeGraph
    # counts above 0 of what was left out or merged, or looks wrong, such as isolated_nodes
    tally: dict[str, int]
    sha256: str  # of the file


def read_graph(
    file: SourceFile, *, directed: bool, weighted: bool, options: ReadOptions | None = None
) -> GraphFile:
    """Read an edge list, adjacency list, GraphML or SciPy matrix, encoded as in ``options``."""
    options = options or ReadOptions()
    stream = Stream(file, options, _BLOCK_BYTES)
    names: Sequence[str | int]
    if stream.head.startswith(NPZ_HEAD):
        edges, names = read_matrix(stream, weighted)
    else:
        texts = _texts(stream, options)
        first = next(texts, (1, ""))
        texts = itertools.chain((first,), texts)
        if _XML.match(first[1]):
            edges = read_graphml(texts, file.name, directed=directed, weighted=weighted)
        else:
            edges = read_edge_list(texts, file.name, weighted)
        names = list(edges.numbers)
    nodes, graph, tally = connected_nodes(edges, len(names), directed, file.name)
    connected = [str(names[node]) for node in nodes.tolist()]
    return GraphFile(connected, graph, tally, stream.digest())


def _texts(stream: Stream, options: ReadOptions) -> Iterator[tuple[int, str]]:
    """Yield texts of whole lines, each with its first line number."""
    for line, data in cut_blocks(stream.text(), after_line_end, _BLOCK_BYTES):
        yield line, checked_utf8(data, stream.name, line, options.errors)[0].decode()
