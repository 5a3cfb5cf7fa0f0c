"""TASKS: what vectors can be scored on, and what a score carries with it."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corpora.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.protocols import StaticVectors
from embed.search import unit_rows

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
    """

    task: str
    dataset: str
    metric: str
    score: float | None
    items_used: int
    items_total: int
    section: str | None = None
    reason: str | None = None


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


def find_rows(vectors: StaticVectors, texts: Iterable[str]) -> dict[str, int]:
    """Find the rows of words as an evaluation set writes them.

    A word passes through the vectors' own segmentation. It is known when that
    leaves exactly one word and this word has a vector.

    Parameters
    ----------
    vectors : StaticVectors
        What to look in.
    texts : iterable of str
        Words of a set; repeats are looked up once.

    Returns
    -------
    dict of str to int
        Row of each text; -1 for an unknown one.
    """
    rows = {}
    for text in dict.fromkeys(texts):
        words = vectors.words(text)
        row = vectors.row(words[0]) if len(words) == 1 else None
        rows[text] = -1 if row is None else row
    return rows


def finite_units(vectors: StaticVectors, rows: np.ndarray) -> Any:
    """Take rows at unit length, none of which may hold NaN or infinity.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    rows : int64 (n,)
        Which.

    Returns
    -------
    float64 (n, D) or scipy.sparse CSR (n, D)
        Zero vectors stay zero.

    Raises
    ------
    ArtifactError
        Names the first word whose vector is not finite.
    """
    taken = vectors.matrix[rows]
    sums = np.asarray(taken.sum(axis=1, dtype=np.float64)).ravel()
    if not np.isfinite(sums).all():
        name = getattr(vectors, "name", "vectors")
        word = vectors.vocabulary[int(rows[~np.isfinite(sums)][0])]
        raise ArtifactError(
            f"{name}: the vector of {word!r} holds NaN or infinity; make the run again"
        )
    return unit_rows(vectors.matrix, rows)
