"""Vector instructions in LLVM IR, the building blocks of :mod:`firth.embed.word2vec.kernels.simd`.

``builder`` is llvmlite's IRBuilder; ``width`` (i64) is the floats of a row, a multiple of LANES.
"""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANES = 16  # floats in an AVX-512 register; narrower machines use several registers
BLOCK = 6  # outputs processed together: six sums for each of two inputs fit the registers
SLOT = 8  # floats reserved for the scores of one input; BLOCK of them are used

LONG = ir.IntType(64)
INT = ir.IntType(32)
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)

_INTEGERS = ir.VectorType(INT, LANES)
_FUSED = ("contract",)  # let LLVM fuse a product and a sum into one instruction
_MAX_SCORE = 30.0  # the sigmoid is 0 or 1 in float32 from here on


@contextlib.contextmanager
def row_parts(builder: Any, width: Any) -> Iterator[Any]:
    """Emit a loop over a row, LANES floats at a time; yield the index of the first."""
    with cgutils.for_range_slice(builder, LONG(0), width, LONG(LANES), LONG) as (d, _):
        yield d


def rows_at(builder: Any, table: Any, offsets: Any, start: Any) -> list[Any]:
    """Return pointers to the BLOCK rows of a table at the offsets from ``start`` on."""
    offsets = builder.gep(offsets, [start])
    return [builder.gep(table, [element(builder, offsets, m)]) for m in range(BLOCK)]


def shares_of(builder: Any, shares: Any, start: Any) -> list[Any]:
    """Return BLOCK floats from ``start`` on, each broadcast to a vector."""
    shares = builder.gep(shares, [start])
    return [broadcast(builder, element(builder, shares, m)) for m in range(BLOCK)]


def scores_of(builder: Any, rows: list[Any], columns: list[Any], width: Any) -> Any:
    """Return the dot products of one or two rows with BLOCK others, one slot per row."""
    zero = broadcast(builder, FLOAT(0))
    sums = [[cgutils.alloca_once(builder, VECTOR) for _ in columns] for _ in rows]
    for place in itertools.chain(*sums):
        builder.store(zero, place)
    with row_parts(builder, width) as d:
        right = [load(builder, column, d) for column in columns]
        for row, places in zip(rows, sums, strict=True):
            left = load(builder, row, d)
            for m, place in enumerate(places):
                add_product(builder, place, left, right[m])
    slots = [[builder.load(p) for p in places] + [zero] * (SLOT - BLOCK) for places in sums]
    totals = list(itertools.chain(*slots))
    return _sum_each(builder, totals + [zero] * (LANES - len(totals)))


def element(builder: Any, data: Any, index: Any) -> Any:
    """Load one entry of an array."""
    return builder.load(builder.gep(data, [LONG(index) if isinstance(index, int) else index]))


def load(builder: Any, row: Any, d: Any) -> Any:
    """Load LANES floats of a row, from index d."""
    place = builder.bitcast(builder.gep(row, [d]), VECTOR.as_pointer())
    return builder.load(place, align=4)


def store(builder: Any, value: Any, row: Any, d: Any) -> None:
    """Store LANES floats of a row, from index d."""
    place = builder.bitcast(builder.gep(row, [d]), VECTOR.as_pointer())
    builder.store(value, place, align=4)


def broadcast(builder: Any, value: Any) -> Any:
    """Return a vector with the value in all LANES lanes."""
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.VectorType(value.type, LANES), [value.constant] * LANES)
    undefined = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, value, INT(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_INTEGERS, [0] * LANES))


def fused(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """Return total + left * right, rounded once or twice, depending on the processor."""
    return builder.fadd(total, builder.fmul(left, right, flags=_FUSED), flags=_FUSED)


def add_product(builder: Any, place: Any, left: Any, right: Any) -> None:
    """Add left * right to the vector at ``place``."""
    builder.store(fused(builder, builder.load(place), left, right), place)


def _shuffle(builder: Any, left: Any, right: Any, order: list[int]) -> Any:
    """Return lanes of two vectors in the given order, those of the second counted from LANES."""
    return builder.shuffle_vector(left, right, ir.Constant(_INTEGERS, order))


def _folded(builder: Any, left: Any, right: Any, low: list[int], high: list[int]) -> Any:
    """Fold two vectors into one: add half of the lanes of each to its other half."""
    return builder.fadd(_shuffle(builder, left, right, low), _shuffle(builder, left, right, high))


def _sum_each(builder: Any, vectors: list[Any]) -> Any:
    """Sum the lanes of each of LANES vectors; lane j of the result is the sum of vector j.

    Takes fifteen folds of single-instruction shuffles in all, instead of four per vector.
    """
    halves = [*range(8), *range(16, 24)]
    vectors = [
        _folded(builder, vectors[j], vectors[j + 8], halves, [lane + 8 for lane in halves])
        for j in range(8)
    ]
    quarters = [*range(4), *range(8, 12), *range(16, 20), *range(24, 28)]
    vectors = [
        _folded(builder, vectors[j], vectors[j + 4], quarters, [lane + 4 for lane in quarters])
        for j in range(4)
    ]
    pairs = [q + lane for q in range(0, 16, 4) for lane in (0, 1, 16, 17)]
    vectors = [
        _folded(builder, vectors[j], vectors[j + 2], pairs, [lane + 2 for lane in pairs])
        for j in range(2)
    ]
    singles = [q + lane for q in range(0, 16, 4) for lane in (0, 2, 16, 18)]
    mixed = _folded(builder, vectors[0], vectors[1], singles, [lane + 1 for lane in singles])
    source = [group + lane for group in (0, 8, 4, 12) for lane in (0, 2, 1, 3)]
    return _shuffle(builder, mixed, mixed, [source.index(j) for j in range(LANES)])


def exp(builder: Any, x: Any) -> Any:
    """Return e^x as 2^n times a polynomial; x is clipped, the relative error below 2e-6."""
    limit = broadcast(builder, FLOAT(_MAX_SCORE))
    x = builder.select(builder.fcmp_ordered(">", x, limit), limit, x)  # NaN stays NaN
    limit = broadcast(builder, FLOAT(-_MAX_SCORE))
    x = builder.select(builder.fcmp_ordered("<", x, limit), limit, x)
    x = builder.fmul(x, broadcast(builder, FLOAT(1.4426950408889634)))
    kind = ir.FunctionType(VECTOR, [VECTOR])
    rint = cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{LANES}f32")
    whole = builder.call(rint, [x])
    part = builder.fsub(x, whole)
    # the Taylor series of 2^part at |part| <= 1/2; its next term is 1.2e-7 at most
    coefficients = (
        1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0,
    )  # fmt: skip
    value = broadcast(builder, FLOAT(coefficients[0]))
    for coefficient in coefficients[1:]:
        value = fused(builder, broadcast(builder, FLOAT(coefficient)), value, part)
    power = builder.shl(builder.fptosi(whole, _INTEGERS), broadcast(builder, INT(23)))
    return builder.bitcast(builder.add(builder.bitcast(value, _INTEGERS), power), VECTOR)
