"""TASKS: what vectors can be scored on, and what a score carries with it."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corpora.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.protocols import StaticVectors
from embed.search import unit_length, unit_rows

# Name to class, as text: a task is imported when it is asked for.
TASKS = {
    "similarity": "embed.compare.similarity:SimilarityTask",
    "analogy": "embed.compare.analogies:AnalogyTask",
}


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """One number, and how much of the set stands behind it.

    Attributes
    ----------
    task : str
        A key of TASKS.
    dataset : str
        Stem of the set's file.
    metric : str
        What is measured: ``spearman``, ``accuracy``.
    score : float or None
        None where the metric is undefined.
    items_used, items_total : int
        Items of the set that could be scored, and all of them.
    section : str or None
        The part of the set, where it is not the whole.
    reason : str or None
        Why the score is undefined.
    items_composed : int
        Of the items used, those with a word outside the vocabulary, whose
        vector is composed of n-grams.
    """

    task: str
    dataset: str
    metric: str
    score: float | None
    items_used: int
    items_total: int
    section: str | None = None
    reason: str | None = None
    items_composed: int = 0


@dataclass(frozen=True)
class FoundWords:
    """Words of evaluation sets as some vectors know them.

    Attributes
    ----------
    rows : dict of str to int
        Per text: its row; V + i where its vector is the i-th composed one; -1
        for an unknown word.
    unseen : list of str
        Words without a row, whose vectors are composed of n-grams.
    composed : float32 (n_unseen, D)
        Their vectors; scipy.sparse CSR where the matrix is.
    """

    rows: dict[str, int]
    unseen: list[str]
    composed: Any


class Task(Protocol):
    """One evaluation set, read and ready to score any vectors."""

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "Task":
        """Read the set, which must be well-formed."""

    @property
    def dataset(self) -> str:
        """Stem of the set's file."""

    def texts(self) -> Iterable[str]:
        """All words of the set as its file writes them, perhaps repeated."""

    def score(self, vectors: StaticVectors) -> list[TaskResult]:
        """Score vectors on the items whose words they know."""


def read_task(name: str, path: Path, config: CompareConfig) -> Task:
    """Import a task and read a set for it.

    Parameters
    ----------
    name : str
        A key of TASKS.
    path : Path
        The evaluation set.
    config : CompareConfig
        How to score.

    Returns
    -------
    Task
        Ready to score.

    Raises
    ------
    SourceError
        The set is missing or malformed.
    """
    module, owner = TASKS[name].split(":")
    kind: type[Task] = getattr(importlib.import_module(module), owner)
    return kind.read(path, config)


def find_words(vectors: StaticVectors, texts: Iterable[str]) -> FoundWords:
    """Find words as an evaluation set writes them.

    A word passes through the vectors' own segmentation. It is known when that
    leaves exactly one word and this word has a vector, a row of the matrix or
    one composed of its n-grams.

    Parameters
    ----------
    vectors : StaticVectors
        What to look in.
    texts : iterable of str
        Words of a set; repeats are looked up once.

    Returns
    -------
    FoundWords
        Rows, and the vectors of words that have none.
    """
    n_words = vectors.matrix.shape[0]
    rows: dict[str, int] = {}
    unseen: dict[str, int] = {}
    composed: list[Any] = []
    for text in dict.fromkeys(texts):
        words = vectors.words(text)
        rows[text] = -1
        if len(words) != 1:
            continue
        row = vectors.row(words[0])
        if row is None and words[0] not in unseen:
            vector = vectors.vector(words[0])
            if vector is not None:
                unseen[words[0]] = n_words + len(unseen)
                composed.append(_as_row(vector, vectors.matrix))
        rows[text] = unseen.get(words[0], -1) if row is None else row
    return FoundWords(rows, list(unseen), _stacked([vectors.matrix[:0], *composed]))


def finite_units(vectors: StaticVectors, rows: np.ndarray, composed: Any = None) -> Any:
    """Take vectors at unit length, none of which may hold NaN or infinity.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    rows : int64 (n,)
        Which; V + i is row i of ``composed``.
    composed : float32 (m, D) or scipy.sparse CSR (m, D), optional
        Vectors of words without a row, as :func:`find_words` gives them.

    Returns
    -------
    float64 (n, D) or scipy.sparse CSR (n, D)
        Zero vectors stay zero.

    Raises
    ------
    ArtifactError
        Names the first word whose vector is not finite.
    """
    n_words = vectors.matrix.shape[0]
    inside = rows < n_words
    if composed is not None and not inside.all():
        known = finite_units(vectors, rows[inside])
        others = unit_length(composed[rows[~inside] - n_words].astype(np.float64))
        order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
        return _stacked([known, others])[np.argsort(order)]
    taken = vectors.matrix[rows]
    sums = np.asarray(taken.sum(axis=1, dtype=np.float64)).ravel()
    if not np.isfinite(sums).all():
        name = getattr(vectors, "name", "vectors")
        word = vectors.vocabulary[int(rows[~np.isfinite(sums)][0])]
        raise ArtifactError(
            f"{name}: the vector of {word!r} holds NaN or infinity; make the run again"
        )
    return unit_rows(vectors.matrix, rows)


def _as_row(vector: np.ndarray, matrix: Any) -> Any:
    """A vector as a matrix of one row, sparse where the others are."""
    if isinstance(matrix, np.ndarray):
        return vector[None]
    import scipy.sparse

    return scipy.sparse.csr_matrix(vector[None])


def _stacked(parts: Sequence[Any]) -> Any:
    """Rows below rows."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import scipy.sparse

    return scipy.sparse.csr_matrix(scipy.sparse.vstack(parts))
