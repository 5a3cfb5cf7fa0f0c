"""Best scores of analogy questions over a block of candidates, in one pass for all methods."""

from typing import Any

import numpy as np

from corpora.common.jit import compiled

_ONE = np.float32(1.0)
_SHIFT = np.float32(1.0) + 2 * np.float32(0.001)  # Levy & Goldberg 2014, section 4: epsilon
_LANES = 128  # running maxima per method: numba computes these, but not one maximum, in vectors


@compiled(error_model="numpy")
def score_block(
    questions: Any,
    first: int,
    cosines: Any,
    inverse_distances: Any,
    places: Any,
    offset_products: Any,
    marks: Any,
    mark_offsets: Any,
    are_answers: Any,
    correct: Any,
    other: Any,
) -> None:
    """Raise the best scores of correct answers and of all other candidates to those of a block.

    Candidates ``marks[mark_offsets[q]:mark_offsets[q + 1]]`` of question q, ascending, are correct
    answers or, where ``are_answers`` is False, excluded.
    """
    # questions: int64 (n,), the ones to score; first: the block's first candidate
    # cosines, inverse_distances: float32 (W, R + 1), of question words and candidates; the last
    # column is spare
    # places: int64 (Q, 3), rows of a, b and c; offset_products: float32 (Q,)
    # marks: int64 (M,); mark_offsets: int64 (Q + 1,); are_answers: bool (M,)
    # correct, other: float32 (Q, 3), by question and method, raised
    lanes = np.empty((3, _LANES), dtype=np.float32)
    for q in questions:
        a, b, c = cosines[places[q, 0]], cosines[places[q, 1]], cosines[places[q, 2]]
        inverse, product = inverse_distances[places[q, 2]], offset_products[q]
        start, n_candidates = 0, len(a) - 1
        for m in range(mark_offsets[q], mark_offsets[q + 1]):
            column = marks[m] - first
            if 0 <= column < n_candidates:
                _raise_best(a, b, c, inverse, product, start, column, lanes, other[q])
                if are_answers[m]:
                    _raise_best(a, b, c, inverse, product, column, column + 1, lanes, correct[q])
                start = column + 1
        _raise_best(a, b, c, inverse, product, start, n_candidates, lanes, other[q])


@compiled(error_model="numpy")  # no check for zero divisors, which prevents vector instructions
def _raise_best(
    a: Any, b: Any, c: Any, inverse: Any, product: Any, start: int, stop: int, lanes: Any, best: Any
) -> None:
    """Raise ``best`` to the scores of candidates ``start`` to ``stop``."""
    # a, b, c, inverse: float32 (R,); lanes: float32 (3, _LANES), overwritten
    # best: float32 (3,): 3CosAdd, 3CosMul, PairDirection
    for method in range(3):
        lanes[method] = best[method]
    add, multiply, direct = lanes[0], lanes[1], lanes[2]
    for first in range(start, stop, _LANES):
        behind = min(first + _LANES, stop)
        at_a, at_b, at_c = a[first:behind], b[first:behind], c[first:behind]
        at_inverse = inverse[first:behind]
        # a loop per method: with more arrays in a loop the compiler does not check for overlap
        for d in range(len(at_a)):
            score = at_b[d] - at_a[d] + at_c[d]
            add[d] = score if score > add[d] else add[d]
        for d in range(len(at_a)):
            # not halved, which only changes 3CosMul by a constant factor
            score = (at_b[d] + _ONE) * (at_c[d] + _ONE) / (at_a[d] + _SHIFT)
            multiply[d] = score if score > multiply[d] else multiply[d]
        for d in range(len(at_a)):
            score = (at_b[d] - at_a[d] + product) * at_inverse[d]
            direct[d] = score if score > direct[d] else direct[d]
    half = _LANES // 2
    while half:
        for method in range(3):
            for d in range(half):
                lanes[method, d] = max(lanes[method, d], lanes[method, d + half])
        half //= 2
    for method in range(3):
        best[method] = lanes[method, 0]
