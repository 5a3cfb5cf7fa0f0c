"""A corpus whose words are the nodes of a graph, with the graph beside it."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.store.corpus import Corpus
from tests.corpora.small_corpora import build


def graph_corpus(
    folder: Path, adjacency: np.ndarray, walks: list[list[int]] | None = None
) -> Corpus:
    """Build a corpus of some walks, by default one edge each; word ``n7`` is node 7."""
    edges = sp.coo_array(adjacency)
    walks = walks or [[node] * 5 for node in range(adjacency.shape[0])]
    text = "\n".join(" ".join(f"n{node}" for node in walk) for walk in walks)
    corpus = build(folder, text, documents="line", held_out=0.0, threads=1)
    id_of = {word: number for number, word in enumerate(corpus.vocabulary.words())}
    ids = np.array([id_of[f"n{node}"] for node in range(adjacency.shape[0])])
    rows = sp.csr_array((edges.data, (ids[edges.row], ids[edges.col])), shape=edges.shape)
    rows.sort_indices()
    NodeGraph(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32),
        None if (rows.data == 1).all() else rows.data.astype(np.float32),
    ).save(corpus.path)  # fmt: skip
    return Corpus.open(corpus.path)
