"""What the tests of graph files share."""

import numpy as np
import pytest

from firth.corpora.reading.graphs.files import read_graph
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import ReadOptions


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a graph from the contents of a file."""
    monkeypatch.chdir(tmp_path)

    def read(contents, name="graph.edg", directed=False, weighted=False, **options):
        if contents is not None:
            data = contents if isinstance(contents, bytes) else contents.encode()
            (tmp_path / name).write_bytes(data)
        (file,) = source_files([name])
        return read_graph(
            file, directed=directed, weighted=weighted, options=ReadOptions(**options)
        )

    return read


@pytest.fixture
def edges_of():
    """Return the weight of each stored edge, by the names of its nodes."""

    def edges_of(found):
        offsets, weights = found.graph.offsets, found.graph.weights
        assert found.graph.neighbors.dtype == np.int32
        assert weights is None or weights.dtype == np.float32
        edges = {}
        for node, name in enumerate(found.names):
            neighbors = found.graph.neighbors[offsets[node] : offsets[node + 1]]
            assert (np.diff(neighbors) > 0).all()
            for at, neighbor in enumerate(neighbors, offsets[node]):
                edges[name, found.names[neighbor]] = 1 if weights is None else float(weights[at])
        return edges

    return edges_of
