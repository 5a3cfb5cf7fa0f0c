"""Best scores of analogy questions over a block of candidates, in one pass for all methods.

numba does not compute one maximum in vectors, so the loop over candidates is written in LLVM IR.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from firth.corpora.common.jit import compiled, emitted

_ONE = np.float32(1.0)
_SHIFT = np.float32(1.0) + 2 * np.float32(0.001)  # Levy & Goldberg 2014, section 4: epsilon
_NEAREST = np.float32(1e-6)  # smaller squared distances are float32 rounding noise
_LANES = 16  # floats in an AVX-512 register; narrower machines use several registers


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
    answers or, where ``are_answers`` is False, excluded. What depends on a and b alone is computed
    once for all questions in a row that share them.
    """
    # questions: int64 (n,), the ones to score; first: the block's first candidate
    # cosines, inverse_distances: float32 (W, R), of question words and candidates
    # places: int64 (Q, 3), rows of a, b and c; offset_products: float32 (Q,)
    # marks: int64 (M,); mark_offsets: int64 (Q + 1,); are_answers: bool (M,)
    # correct, other: float32 (Q, 3), by question and method, raised
    n_candidates = cosines.shape[1]
    pair = np.empty((3, n_candidates), dtype=np.float32)
    last_a = last_b = -1
    for q in questions:
        a, b, row = places[q]
        if a != last_a or b != last_b:
            _prepare_pair(cosines[a], cosines[b], pair)
            last_a, last_b = a, b
        c, inverse, product = cosines[row], inverse_distances[row], offset_products[q]
        start = 0
        for m in range(mark_offsets[q], mark_offsets[q + 1]):
            column = marks[m] - first
            if 0 <= column < n_candidates:
                _raise_best(pair, c, inverse, product, start, column, other[q])
                if are_answers[m]:
                    _raise_best(pair, c, inverse, product, column, column + 1, correct[q])
                start = column + 1
        _raise_best(pair, c, inverse, product, start, n_candidates, other[q])


@compiled(error_model="numpy")  # no check for zero divisors, which prevents vector instructions
def invert_distances(
    rows: Any, cosines: Any, of_queries: Any, of_candidates: Any, inverse_distances: Any
) -> None:
    """Write one over the distances of some question words to the candidates."""
    # rows: int64 (n,); cosines, inverse_distances: float32 (W, R); of_queries: float32 (W,), the
    # squared length of each unit or zero vector; of_candidates: float32 (R,)
    for w in rows:
        row, inverse, own = cosines[w], inverse_distances[w], of_queries[w]
        for d in range(len(row)):
            square = row[d] * np.float32(-2.0) + own + of_candidates[d]
            inverse[d] = _ONE / np.sqrt(square if square > _NEAREST else _NEAREST)


@compiled(error_model="numpy")
def _prepare_pair(a: Any, b: Any, pair: Any) -> None:
    """Write what the scores have of a and b: b - a, and both parts of 3CosMul."""
    # a, b: float32 (R,), cosines; pair: float32 (3, R)
    for d in range(len(a)):
        pair[0, d] = b[d] - a[d]
        # not halved, which only changes 3CosMul by a constant factor
        pair[1, d] = b[d] + _ONE
        pair[2, d] = _ONE / (a[d] + _SHIFT)


@compiled(error_model="numpy")
def _raise_best(
    pair: Any, c: Any, inverse: Any, product: Any, start: int, stop: int, best: Any
) -> None:
    """Raise ``best`` to the scores of candidates ``start`` to ``stop``."""
    # pair: float32 (3, R); c, inverse: float32 (R,)
    # best: float32 (3,): 3CosAdd, 3CosMul, PairDirection
    offsets, shifted, inverse_a = pair[0], pair[1], pair[2]
    rest = stop - (stop - start) % _LANES
    if rest > start:
        _raise_in_vectors(offsets, shifted, inverse_a, c, inverse, product, start, rest, best)
    for d in range(rest, stop):
        best[0] = max(best[0], offsets[d] + c[d])
        best[1] = max(best[1], shifted[d] * (c[d] + _ONE) * inverse_a[d])
        best[2] = max(best[2], (offsets[d] + product) * inverse[d])


@emitted
def _raise_in_vectors(
    builder: Any, offsets: Any, shifted: Any, inverse_a: Any, c: Any, inverse: Any, product: Any,
    start: Any, stop: Any, best: Any,
) -> None:  # fmt: skip
    """Raise ``best`` to the scores of candidates ``start`` to ``stop``, a multiple of _LANES."""
    number, vector = ir.FloatType(), ir.VectorType(ir.FloatType(), _LANES)
    long = ir.IntType(64)

    def load(row: Any, index: Any) -> Any:
        place = builder.bitcast(builder.gep(row, [index]), vector.as_pointer())
        return builder.load(place, align=4)

    def broadcast(value: Any) -> Any:
        empty = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        return builder.shuffle_vector(one, empty, zeros)

    ones, products = broadcast(number(1)), broadcast(product)
    ends = [builder.gep(best, [long(method)]) for method in range(3)]
    highest = [cgutils.alloca_once(builder, vector) for _ in ends]
    for place, end in zip(highest, ends, strict=True):
        builder.store(broadcast(builder.load(end)), place)
    with cgutils.for_range_slice(builder, start, stop, long(_LANES), long) as (d, _):
        moved, to_c = load(offsets, d), load(c, d)
        multiplied = builder.fmul(load(shifted, d), builder.fadd(to_c, ones))
        scores = [
            builder.fadd(moved, to_c),
            builder.fmul(multiplied, load(inverse_a, d)),
            builder.fmul(builder.fadd(moved, products), load(inverse, d)),
        ]
        for place, score in zip(highest, scores, strict=True):
            before = builder.load(place)
            above = builder.fcmp_ordered(">", score, before)
            builder.store(builder.select(above, score, before), place)
    name, kind = f"llvm.vector.reduce.fmax.v{_LANES}f32", ir.FunctionType(number, [vector])
    reduce = cgutils.get_or_insert_function(builder.module, kind, name)
    for place, end in zip(highest, ends, strict=True):
        builder.store(builder.call(reduce, [builder.load(place)], fastmath=("nnan",)), end)
