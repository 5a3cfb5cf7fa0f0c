"""Answer analogies by vector offsets: 3CosAdd, 3CosMul and PairDirection."""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.corpora.common.threads import thread_count, worker_threads
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.tasks.analogy.offset_kernels import invert_distances, score_block
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.search import nonzero_rows

BY_OFFSET = ("accuracy", "accuracy_3cosmul", "accuracy_pairdirection")  # the first is 3CosAdd
_BLOCK = 1024  # candidates whose cosines with all question words are held at once
_QUESTIONS = 1 << 12  # of one thread


def correct_by_offset(
    vectors: StaticVectors,
    questions: np.ndarray,
    answers: Sequence[np.ndarray],
    restrict: int,
    composed: Any = None,
) -> np.ndarray:
    """Return which analogy questions are answered correctly by each of BY_OFFSET.

    Levy & Goldberg 2014: 3CosAdd (eq. 3), 3CosMul (eq. 4, epsilon 0.001, cosines shifted to (x + 1)
    / 2) and PairDirection (eq. 2), cos(d - c, b - a) with unit vectors. All follow from cosines:
    with p = b - a, cos(d - c, p) = (d p - c p) / (|d - c| |p|).
    """
    # questions: int64 (Q, 3), the rows of a, b and c; answers: rows int64 (A,) per question;
    # composed: float32 (n, D), dense or CSR; returns bool (3, Q)
    words, places = np.unique(questions, return_inverse=True)
    places = places.reshape(-1, 3)
    # in float32: twice as fast, and precise enough for the order
    queries = finite_units(vectors, words, composed).astype(np.float32)
    marks = mark(questions, answers)
    correct, other = np.full((2, len(questions), len(BY_OFFSET)), -np.inf, dtype=np.float32)
    inner = products(queries, queries, np.empty((len(words), len(words)), dtype=np.float32))
    a, b, c = places.T
    offset_products = inner[c, a] - inner[c, b]  # -(c p)
    order = np.lexsort((c, b, a))  # questions with the same a, b in a row
    chunks = _split(order, _QUESTIONS)
    thirds = _split(np.unique(c), 64)
    candidates = min(restrict, len(vectors.vocabulary))
    shape = len(words), min(_BLOCK, candidates)
    held = np.empty((2, math.prod(shape)), dtype=np.float32)  # fresh memory is slow

    with worker_threads(thread_count(None)) as pool:
        for start in range(0, candidates, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, candidates))
            units = finite_units(vectors, rows).astype(np.float32)
            cosines, inverse = (
                part[: shape[0] * len(rows)].reshape(-1, len(rows)) for part in held
            )
            products(queries, units, cosines)
            lengths = (nonzero_rows(each).astype(np.float32) for each in (queries, units))
            known = cosines, *lengths, inverse
            deque(pool.map(lambda some, known=known: invert_distances(some, *known), thirds), 0)
            given = start, cosines, inverse, places, offset_products, *marks, correct, other
            deque(pool.map(lambda some, given=given: score_block(some, *given), chunks), 0)
    return np.asarray((correct > other).T)


def _split(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Divide rows into parts for threads."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def mark(
    excluded: np.ndarray, answers: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return candidates to exclude or reward, ascending, offsets, and which are answers."""
    # excluded: int64 (Q, k); returns int64 (M,), int64 (Q + 1,), bool (M,)
    n_excluded, lengths = excluded.shape[1], [len(rows) for rows in answers]
    numbers = np.arange(len(answers))
    owners = np.concatenate([np.repeat(numbers, n_excluded), np.repeat(numbers, lengths)])
    rows = np.concatenate([excluded.ravel(), *answers]).astype(np.int64)
    are_answers = np.arange(len(rows)) >= excluded.size
    order = np.lexsort((are_answers, rows, owners))
    pairs = np.stack([owners, rows])[:, order]
    order = order[np.diff(pairs, axis=1, prepend=-1).any(axis=0)]  # the first of equals
    offsets = np.searchsorted(owners[order], np.arange(len(answers) + 1))
    return rows[order], offsets, are_answers[order]


def products(queries: Any, candidates: Any, out: np.ndarray) -> np.ndarray:
    """Write the products of queries and candidates into ``out``, and return it."""
    # queries: float32 (W, D); candidates: float32 (R, D), dense or CSR; out: float32 (W, R)
    if isinstance(queries, np.ndarray):
        return np.matmul(queries, candidates.T, out=out)
    found = (queries @ candidates.T).tocoo()
    out[:] = 0
    out[found.row, found.col] = found.data
    return out
