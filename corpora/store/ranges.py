"""Checks that the arrays of a corpus fit each other, so that no kernel leaves them."""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from firth.corpora.artifacts.arrays import array_path
from firth.corpora.common.errors import ArtifactError
from firth.corpora.graphs.graph import FOLDER, NodeGraph
from firth.corpora.store.kept_text import BLOCKS, FIRST_SENTENCES, OFFSETS
from firth.corpora.store.shards import FORMS, HEADS, UNITS, Shard
from firth.corpora.store.vocabulary import Vocabulary


def check_vocabulary(vocabulary: Vocabulary) -> None:
    """Raise unless there are types, and their offsets and order lie within them."""
    folder, n_types = vocabulary.directory, len(vocabulary)
    _check(folder, "counts", vocabulary.counts, np.int64, None, within=1 << 62)
    if not n_types:
        _refuse(folder, "counts", "no types")
    _check(folder, "words.text", vocabulary.text, np.uint8, None)
    _check_offsets(folder, "words.offsets", vocabulary.offsets, n_types, len(vocabulary.text))
    _check(folder, "by_text", vocabulary.by_text, np.int32, n_types, within=n_types)
    if array_path(folder, "document_counts").exists():
        _check(folder, "document_counts", vocabulary.document_counts, np.int64, n_types)


def check_shard(shard: Shard, n_types: int, n_forms: int | None, n_sources: int) -> None:
    """Raise unless ids are of types, and offsets of tokens, of the shard; one pass over each."""
    folder, array = shard.directory, shard.array
    _check(folder, "ids", array("ids"), np.int32, None, within=n_types)
    n_tokens = len(array("ids"))
    for unit in UNITS:
        _check_offsets(folder, unit + "s", array(unit + "s"), None, n_tokens)
    n_documents, n_units = len(array("documents")) - 1, len(shard.units) - 1
    _check(folder, "held_out", array("held_out"), np.bool_, n_units)
    _check(folder, "held_out", array("held_out").view(np.uint8), np.uint8, n_units, within=2)
    sources, positions = array("document_sources"), array("document_positions")
    _check(folder, "document_sources", sources, np.int32, n_documents, within=n_sources)
    _check(folder, "document_positions", positions, np.int64, n_documents)
    if n_forms is not None:
        _check(folder, FORMS, array(FORMS), np.int32, n_tokens, within=n_forms)
    if shard.keeps_heads:
        _check(folder, HEADS, array(HEADS), np.int32, n_tokens)
        targets = array(HEADS) + np.arange(n_tokens, dtype=np.int32)
        _check(folder, HEADS, targets, np.int32, n_tokens, within=n_tokens)
    _check_strings(shard, n_documents)


def check_graph(graph: NodeGraph, corpus: Path, n_types: int) -> None:
    """Raise unless a graph has a node for each type, and its edges lead to nodes."""
    folder, n_edges = corpus / FOLDER, len(graph.neighbors)
    _check_offsets(folder, "offsets", graph.offsets, n_types, n_edges)
    _check(folder, "neighbors", graph.neighbors, np.int32, n_edges, within=n_types)
    if graph.weights is not None:
        _check(folder, "weights", graph.weights, np.float32, n_edges)
        if not (np.isfinite(graph.weights) & (graph.weights > 0)).all():
            _refuse(folder, "weights", "not all are finite and above 0")


def _check_strings(shard: Shard, n_documents: int) -> None:
    """Raise unless the offsets of kept fields and of kept text lie within their bytes."""
    folder, array = shard.directory, shard.array
    for field in shard.fields.values():
        _check(folder, f"{field}.text", text := array(f"{field}.text"), np.uint8, None)
        offsets = array(f"{field}.offsets")
        _check_offsets(folder, f"{field}.offsets", offsets, n_documents, len(text))
    if shard.keeps_text:
        _check(folder, BLOCKS, array(BLOCKS), np.uint8, None)
        _check_offsets(folder, OFFSETS, array(OFFSETS), None, len(array(BLOCKS)))
        n_blocks, n_sentences = len(array(OFFSETS)) - 1, len(array("sentences")) - 1
        _check_offsets(folder, FIRST_SENTENCES, array(FIRST_SENTENCES), n_blocks, n_sentences)


def _check(
    folder: Path, name: str, values: np.ndarray, dtype: Any, length: int | None,
    *, within: int | None = None,
) -> None:  # fmt: skip
    """Raise unless an array has the type and length, and its values are from 0 to ``within``."""
    length = values.size if length is None else length
    if values.dtype != dtype or values.shape != (length,):
        expected = f"expected {np.dtype(dtype).name} of shape ({length},)"
        _refuse(folder, name, f"{values.dtype} of shape {values.shape}, {expected}")
    if within is not None and length:
        least, most = values.min(), values.max()
        if not 0 <= least <= most < within:
            _refuse(folder, name, f"values from {least} to {most}, expected 0 to {within - 1}")


def _check_offsets(folder: Path, name: str, offsets: np.ndarray, n: int | None, end: int) -> None:
    """Raise unless offsets ascend from 0 to the end of what they divide into ``n`` parts."""
    _check(folder, name, offsets, np.int64, None if n is None else n + 1)
    ascend = len(offsets) and offsets[0] == 0 and bool((offsets[1:] >= offsets[:-1]).all())
    if not ascend or offsets[-1] != end:
        _refuse(folder, name, f"offsets do not ascend from 0 to {end}")


def _refuse(folder: Path, name: str, what: str) -> NoReturn:
    raise ArtifactError(f"{array_path(folder, name)}: is damaged ({what}); build the corpus again")
