"""Answer analogies by vector offsets: 3CosAdd, 3CosMul and PairDirection."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from corpora.common.threads import thread_count
from embed.compare.inputs.lookup import finite_units
from embed.compare.tasks.analogy.best_answers import BestAnswers
from embed.protocols import StaticVectors

METRICS = ("accuracy", "accuracy_3cosmul", "accuracy_pairdirection")  # the first is 3CosAdd
BLOCK = 4096  # candidates whose cosines with all question words are held at once
_EPSILON = np.float32(0.001)  # Levy & Goldberg 2014, section 4
_NEAREST = np.float32(1e-6)  # smaller squared distances are float32 rounding noise


def correct_by_offset(
    vectors: StaticVectors,
    questions: np.ndarray,
    answers: Sequence[np.ndarray],
    restrict: int,
    *,
    exclude: bool = True,
    composed: Any = None,
    block: int = BLOCK,
    chunk: int = 32,
) -> np.ndarray:
    """Return which analogy questions are answered correctly by each of METRICS.

    Levy & Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word Representations":
    3CosAdd (their eq. 3) maximizes cos(d, b) - cos(d, a) + cos(d, c), 3CosMul (eq. 4)
    cos(d, b) cos(d, c) / (cos(d, a) + 0.001) with cosines shifted to (x + 1) / 2, and PairDirection
    (eq. 2, from Mikolov, Yih & Zweig 2013) cos(d - c, b - a) with unit vectors. All follow from the
    cosines between candidates and the distinct question words, so one matrix product serves all
    questions: with p = b - a, cos(d - c, p) = (d p - c p) / (|d - c| |p|), and |d - c| follows
    from the cosine of d and c.
    """
    # questions: int64 (Q, 3), the rows of a, b and c; answers: rows int64 (A,) per question;
    # composed: float32 (n, D), dense or CSR; returns bool (3, Q)
    words, places = np.unique(questions, return_inverse=True)
    places = places.reshape(-1, 3)
    queries = to_float32(finite_units(vectors, words, composed))
    excluded = questions if exclude else questions[:, :0]
    best = BestAnswers(answers, excluded, len(METRICS))
    inner = products(queries, queries)
    a, b, c = places.T
    offset_products = inner[c, a] - inner[c, b]  # -(c p)
    order = np.lexsort((c, b, a))  # questions with the same a, b in a row, for the cache
    chunks = [order[start : start + chunk] for start in range(0, len(order), chunk)]
    candidates = min(restrict, len(vectors.vocabulary))

    with ThreadPoolExecutor(thread_count(None)) as pool:
        for start in range(0, candidates, block):
            rows = np.arange(start, min(start + block, candidates))
            units = to_float32(finite_units(vectors, rows))
            cosines = products(queries, units)
            held = _Block(start, cosines, _inverse_distances(cosines, queries, units))
            deque(pool.map(partial(held.score, best, places, offset_products), chunks), 0)
    return best.correct()


def to_float32(units: Any) -> Any:
    """Convert unit rows to float32: twice as fast, and precise enough for the order."""
    return units.astype(np.float32)


def products(queries: Any, candidates: Any) -> np.ndarray:
    """Return the products of queries and candidates, with a spare zero column at the end."""
    # queries: float32 (W, D); candidates: float32 (R, D), dense or CSR; returns float32 (W, R + 1)
    cosines = np.zeros((queries.shape[0], candidates.shape[0] + 1), dtype=np.float32)
    if isinstance(queries, np.ndarray):
        np.matmul(queries, candidates.T, out=cosines[:, :-1])
    else:
        cosines[:, :-1] = (queries @ candidates.T).toarray()
    return cosines


def _inverse_distances(cosines: np.ndarray, queries: Any, candidates: Any) -> np.ndarray:
    """Return one over the distances of queries and candidates, float32 (W, R + 1)."""
    squares = cosines * np.float32(-2.0)
    squares += _lengths(queries)[:, None]
    squares[:, :-1] += _lengths(candidates)
    np.maximum(squares, _NEAREST, out=squares)
    np.sqrt(squares, out=squares)
    return np.reciprocal(squares, out=squares)


def _lengths(units: Any) -> np.ndarray:
    """Return 1 for a unit row, 0 for a zero vector."""
    return (np.asarray((units != 0).sum(axis=1)).ravel() > 0).astype(np.float32)


@dataclass(frozen=True)
class _Block:
    """A block of candidates, with their cosines and inverse distances to all question words."""

    start: int
    cosines: np.ndarray
    inverse_distances: np.ndarray

    def score(
        self, best: BestAnswers, places: np.ndarray, offset_products: np.ndarray, chunk: np.ndarray
    ) -> None:
        """Score the block for some questions by each of METRICS."""
        a, b, c = (self.cosines[rows] for rows in places[chunk].T)
        direction = b - a
        added = direction + c
        direction += offset_products[chunk, None]
        direction *= self.inverse_distances[places[chunk, 2]]
        b += np.float32(1.0)  # not halved, which only changes 3CosMul by a constant factor
        c += np.float32(1.0)
        a += np.float32(1.0) + 2 * _EPSILON
        b *= c
        b /= a
        columns = best.locate(chunk, self.start, self.cosines.shape[1] - 1)
        for method, scores in enumerate((added, b, direction)):
            best.update(method, chunk, scores, columns)
