"""Answer analogies by the offset of a pair: 3CosAdd, 3CosMul and PairDirection."""

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

METRICS = ("accuracy", "accuracy_3cosmul", "accuracy_pairdirection")  # the first is by 3CosAdd
BLOCK = 4096  # candidates whose cosines with all question words are held at a time
_EPSILON = np.float32(0.001)  # Levy & Goldberg 2014, section 4
_NEAREST = np.float32(1e-6)  # a squared distance that float32 cannot tell from none


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
    """Tell which analogy questions are answered rightly.

    Levy & Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word
    Representations": 3CosAdd (their eq. 3) maximises
    cos(d, b) - cos(d, a) + cos(d, c), 3CosMul (eq. 4)
    cos(d, b) cos(d, c) / (cos(d, a) + 0.001) with cosines shifted to (x + 1) / 2,
    PairDirection (eq. 2, of Mikolov, Yih & Zweig 2013) cos(d - c, b - a) with
    vectors of length 1. All follow from the cosines between candidates and the
    distinct words of the questions, so one matrix product serves every
    question: with p = b - a, cos(d - c, p) = (d p - c p) / (|d - c| |p|), and
    |d - c| from the cosine of d and c.
    """
    # questions: int64 (Q, 3); answers: sequence of int64 (A,); composed: float32 (n, D) or
    # scipy.sparse CSR (n, D); returns bool (3, Q)
    words, places = np.unique(questions, return_inverse=True)
    places = places.reshape(-1, 3)
    queries = single(finite_units(vectors, words, composed))
    excluded = questions if exclude else questions[:, :0]
    contest = BestAnswers(answers, excluded, len(METRICS))
    among = products(queries, queries)
    a, b, c = places.T
    crossings = among[c, a] - among[c, b]
    order = np.lexsort((c, b, a))  # a pair a, b is read from the cache while it recurs
    chunks = [order[start : start + chunk] for start in range(0, len(order), chunk)]
    candidates = min(restrict, len(vectors.vocabulary))

    with ThreadPoolExecutor(thread_count(None)) as pool:
        for start in range(0, candidates, block):
            rows = np.arange(start, min(start + block, candidates))
            units = single(finite_units(vectors, rows))
            cosines = products(queries, units)
            held = _Block(start, cosines, _nearness(cosines, queries, units))
            deque(pool.map(partial(held.ask, contest, places, crossings), chunks), 0)
    return contest.won()


def single(units: Any) -> Any:
    """Convert unit rows to single precision: twice as fast, and near enough for the order."""
    # units: float64 (n, D) or scipy.sparse CSR (n, D); returns float32 (n, D) or scipy.sparse CSR
    # (n, D)
    return units.astype(np.float32)


def products(queries: Any, candidates: Any) -> np.ndarray:
    """Multiply queries with candidates."""
    # queries: float32 (W, D) or scipy.sparse CSR (W, D); candidates: float32 (R, D) or
    # scipy.sparse CSR (R, D); returns float32 (W, R + 1)
    cosines = np.zeros((queries.shape[0], candidates.shape[0] + 1), dtype=np.float32)
    if isinstance(queries, np.ndarray):
        np.matmul(queries, candidates.T, out=cosines[:, :-1])
    else:
        cosines[:, :-1] = (queries @ candidates.T).toarray()
    return cosines


def _nearness(cosines: np.ndarray, queries: Any, candidates: Any) -> np.ndarray:
    """One over the distance of queries and candidates, float32 (W, R + 1)."""
    squares = cosines * np.float32(-2.0)
    squares += _lengths(queries)[:, None]
    squares[:, :-1] += _lengths(candidates)
    np.maximum(squares, _NEAREST, out=squares)
    np.sqrt(squares, out=squares)
    return np.reciprocal(squares, out=squares)


def _lengths(units: Any) -> np.ndarray:
    """1 for a unit row, 0 for a zero vector."""
    return (np.asarray((units != 0).sum(axis=1)).ravel() > 0).astype(np.float32)


@dataclass(frozen=True)
class _Block:
    """A block of candidates: how the words of all questions lie to them."""

    start: int
    cosines: np.ndarray
    nearness: np.ndarray

    def ask(
        self, contest: BestAnswers, places: np.ndarray, crossings: np.ndarray, chunk: np.ndarray
    ) -> None:
        """Score the block for some questions, in the order of METRICS."""
        a, b, c = (self.cosines[rows] for rows in places[chunk].T)
        direction = b - a
        added = direction + c
        direction += crossings[chunk, None]
        direction *= self.nearness[places[chunk, 2]]
        b += np.float32(1.0)  # not halved: that changes 3CosMul by a constant factor only
        c += np.float32(1.0)
        a += np.float32(1.0) + 2 * _EPSILON
        b *= c
        b /= a
        spots = contest.locate(chunk, self.start, self.cosines.shape[1] - 1)
        for method, scores in enumerate((added, b, direction)):
            contest.enter(method, chunk, scores, spots)
