"""Approximate nearest words: an index beside the files of a run, with its measured recall."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    checksum,
    fingerprint,
    read_json,
    verify,
    write_json,
)  # fmt: skip
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.cache import cache_folder, check_once
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.reporting import note
from firth.embed.query.graph import Graph, is_graph, require_usearch
from firth.embed.vectors.int8_rows import CODES, SCALES, is_dense
from firth.embed.vectors.neighbors import NeighborLists, Neighbors, named, unit_queries
from firth.embed.vectors.opened import opened
from firth.embed.vectors.search import best_rows, top_rows, unit_length, unit_rows
from firth.embed.vectors.word_vectors import MATRIX, WordVectors

FOLDER, GRAPH, ABOUT = "index", "graph.usearch", "index.json"
_EFFORTS = (32, 64, 128, 256, 512, 1024)  # candidates kept in a search
_SPARE = 16  # rows asked for beyond k, since the graph orders near-ties by 16 bits
_SAMPLE, _K = 1000, 10  # words, whose 10 nearest decide
_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # of which the recall is measured
_AGAIN = "make it again with `make_index()`"


@suggesting
@dataclass(frozen=True, eq=False)
class NeighborIndex:
    """Finds most of the nearest words of a run without looking at all; cosines are exact.

    Parameters
    ----------
    vectors : WordVectors
        The vectors of the run.
    path : Path
        The folder of the index.
    about : dict
        ``recall`` (share of the 10 nearest words that are found, a mean over ``sample`` words),
        ``recalls`` (the same of 1, 2, 5, 10, ... 1,000 nearest), ``effort`` (candidates kept in a
        search), ``words``, ``dim``, ``bytes``, and what the index is checked by.
    graph : Graph
        The opened graph.
    """

    vectors: WordVectors
    path: Path
    about: dict[str, Any]
    graph: Graph

    def __reduce__(self) -> tuple[Any, ...]:
        return open_index, (self.vectors,)

    def __repr__(self) -> str:
        return f"<NeighborIndex of {self.vectors!r}: finds {self.recall:.1%} of the {_K} nearest>"

    @property
    def recall(self) -> float:
        """Share of the 10 nearest words that are found, measured when the index was made."""
        return float(self.about["recall"])

    def recall_for(self, k: int) -> tuple[int, float]:
        """Return the recall of the least measured number of nearest words that is ``k`` or more.

        Parameters
        ----------
        k : int
            Number of neighbors asked for.

        Returns
        -------
        tuple of int and float
            1, 2, 5, 10, ... or 1,000, and the share of so many that is found.
        """
        recalls = self.about.get("recalls") or {_K: self.recall}
        measured = sorted((int(number), float(share)) for number, share in recalls.items())
        return next((each for each in measured if each[0] >= k), measured[-1])

    def nearest(
        self, words: str | Sequence[str] | Sequence[float] | np.ndarray, k: int = 10
    ) -> list[Neighbors]:
        """Find words near to each of some words or vectors by cosine.

        Parameters
        ----------
        words : str, sequence of str, or numbers (D,) or (n, D)
            Words, as of :func:`firth.nearest`, or any vectors, also as lists.
        k : int
            Neighbors of each.

        Returns
        -------
        list of Neighbors
            As of :func:`firth.nearest`, but some of the nearest words may be missing.
        """
        names = [words] if isinstance(words, str) else list(words)
        if not names:
            return []
        numbers = np.asarray(words)
        if numbers.dtype.kind in "fiu":
            units = self._units(numbers)
            rows: Sequence[int | None] = [None] * len(units)
            names = [f"vector {number}" for number in range(len(units))]
        else:
            units, rows = unit_queries(self.vectors, names)
        found = [named(self.vectors, *each) for each in rows_near(self, units, rows, k)]
        return NeighborLists(names, found)

    def _units(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors at unit length, float64 (n, D)."""
        units = np.atleast_2d(vectors).astype(np.float64)
        if units.ndim != 2 or units.shape[1] != self.vectors.dim:
            raise SettingError(
                f"vectors must have shape (n, {self.vectors.dim}), got {vectors.shape}"
            )
        if not np.isfinite(units).all():
            raise SettingError("vectors must be finite, got NaN or infinity")
        return np.asarray(unit_length(units))


def rows_near(
    index: NeighborIndex, units: np.ndarray, rows: Sequence[int | None], k: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows near unit vectors, without those vectors' own, and the cosines."""
    # units: float64 (q, D); returns list of (int64 (n,), float64 (n,))
    if k < 1:
        raise SettingError(f"k must be at least 1, got {k}")
    vectors = index.vectors
    found = index.graph.search(units, min(k + 1 + _SPARE, len(vectors)), index.about["effort"])
    return [
        best_rows(vectors.matrix, units[[place]], np.sort(near[near != row]), k)
        for place, (near, row) in enumerate(zip(found, rows, strict=True))
    ]


def make_index(run: str | Path | WordVectors, *, recall: float = 0.95) -> NeighborIndex:
    """Make the index of a run for approximate search, and measure what it finds.

    The index lies in the run, in the folder ``index``, or in the cache if the run cannot be
    written. An earlier one is replaced.

    Parameters
    ----------
    run : str, Path or WordVectors
        A finished run with dense vectors.
    recall : float
        Share of the 10 nearest words to find, above 0 and at most 1. Searches keep as few
        candidates as reach it on 1,000 random words; a note says so if none do.

    Returns
    -------
    NeighborIndex
        Opened.

    Raises
    ------
    SettingError
        If usearch is not installed, or the vectors are sparse or in no run.
    ArtifactError
        If the run is damaged, or the index cannot be written.
    """
    if not 0 < recall <= 1:
        raise SettingError(f"`recall` must be above 0 and at most 1, got {recall}")
    vectors = _opened(run)
    require_usearch()
    assert vectors.path is not None
    verify(vectors.path, list(_checksums(vectors)))
    graph = Graph.build(vectors.matrix)
    recalls, effort = _measure(graph, vectors, recall)
    reached = recalls[_K]
    if reached < recall:
        note(f"{vectors.name}: the recall of the index is {reached:.4f}, less than {recall:g}")
    path = _folder(vectors)
    with atomic_output(path, force=True, may_replace=(GRAPH, ABOUT)) as partial:
        partial.mkdir()
        graph.save(partial / GRAPH)
        about = {
            "vectors": _vectors_of(vectors),
            "words": len(vectors),
            "dim": vectors.dim,
            "recall": reached,
            "recalls": recalls,
            "sample": min(_SAMPLE, len(vectors)),
            "effort": effort,
            "bytes": (partial / GRAPH).stat().st_size,
            "sha256": checksum(partial / GRAPH),
        }
        write_json(partial / ABOUT, about)
    return NeighborIndex(vectors, path, about, graph)


def open_index(run: str | Path | WordVectors) -> NeighborIndex:
    """Open the index of a run.

    Parameters
    ----------
    run : str, Path or WordVectors
        A run that :func:`make_index` was called with.

    Returns
    -------
    NeighborIndex
        Memory-mapped, after its checksum was verified.

    Raises
    ------
    SettingError
        If usearch is not installed, or the vectors are sparse or in no run.
    ArtifactError
        If there is no index, or it is damaged or was made from other vectors.
    """
    vectors = _opened(run)
    require_usearch()
    path = _folder(vectors)
    if not (path / ABOUT).is_file():
        raise ArtifactError(f"{vectors.name}: has no index; make one with `make_index()`")
    about = read_json(path / ABOUT)
    if not isinstance(about, dict) or about.get("vectors") != _vectors_of(vectors):
        raise ArtifactError(f"{path}: is not the index of these vectors; {_AGAIN}")
    if not _has_numbers(about) or (about.get("words"), about.get("dim")) != vectors.matrix.shape:
        raise ArtifactError(f"{path / ABOUT}: is damaged; {_AGAIN}")
    check_once([path / ABOUT, path / GRAPH], lambda: _check_graph(path / GRAPH, vectors, about))
    return NeighborIndex(vectors, path, about, Graph.open(path / GRAPH, _AGAIN))


def _has_numbers(about: dict[str, Any]) -> bool:
    """Return whether the effort and the recalls of an index are numbers that fit."""
    effort, recalls = about.get("effort"), about.get("recalls", {})
    return (
        type(effort) is int
        and 0 < effort <= _EFFORTS[-1]
        and type(about.get("recall")) is float
        and isinstance(recalls, dict)
        and all(k.isdecimal() and type(share) is float for k, share in recalls.items())
    )


def _check_graph(path: Path, vectors: WordVectors, about: dict[str, Any]) -> None:
    """Raise unless a graph is whole and of these vectors."""
    whole = path.is_file() and checksum(path) == about.get("sha256")
    if not whole or not is_graph(path, len(vectors), vectors.dim):
        raise ArtifactError(f"{path}: is missing or damaged; {_AGAIN}")


def _opened(run: str | Path | WordVectors) -> WordVectors:
    """Return the vectors of a run; raise if they cannot have an index."""
    vectors = opened(run)
    if not is_dense(vectors.matrix):
        raise SettingError(f"{vectors.name}: has sparse vectors, which are not indexed")
    if vectors.path is None or not (vectors.path / CHECKSUMS).is_file():
        raise SettingError(
            f"{vectors.name}: only a run with checksums can have an index; export these vectors "
            "as int8, which makes one"
        )
    return vectors


def _checksums(vectors: WordVectors) -> dict[str, Any]:
    """Return the checksums of the files with the vectors."""
    assert vectors.path is not None
    kept = read_json(vectors.path / CHECKSUMS)
    return {name: kept[name] for name in (MATRIX, CODES, SCALES) if name in kept}


def _vectors_of(vectors: WordVectors) -> str:
    """Return a hash of the vectors, by which an index is found to be theirs."""
    return fingerprint(_checksums(vectors))


def _folder(vectors: WordVectors) -> Path:
    """Return where the index is, or is to be written."""
    assert vectors.path is not None
    path = vectors.path / FOLDER
    if path.exists() or os.access(vectors.path, os.W_OK):
        return path
    return cache_folder("indexes") / _vectors_of(vectors)


def _measure(graph: Graph, vectors: WordVectors, goal: float) -> tuple[dict[int, float], int]:
    """Return recalls on random words by k, and the least effort that reaches the goal for 10."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.choice(len(vectors), min(_SAMPLE, len(vectors)), replace=False)).tolist()
    units = unit_rows(vectors.matrix, rows)
    nearest = top_rows(vectors.matrix, units, _KS[-1], exclude=[[row] for row in rows])

    def recall_of(k: int, effort: int) -> float:
        found = graph.search(units, min(k + 1 + _SPARE, len(vectors)), effort)
        hits = n_exact = 0
        for near, (exact, scores) in zip(found, nearest, strict=True):
            n = min(k, len(exact))
            # a word as near as the last exact one counts, whichever of them was found
            n_as_near = int((scores > scores[n - 1] - 1e-9).sum()) if n else 0
            hits += min(n, int(np.isin(near, exact[:n_as_near]).sum()))
            n_exact += n
        return hits / n_exact if n_exact else 1.0

    recall = 1.0
    for effort in _EFFORTS:
        recall = recall_of(_K, effort)
        if recall >= goal:
            break
    return {k: recall_of(k, effort) for k in _KS}, effort
