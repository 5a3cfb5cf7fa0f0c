"""Vector instructions in LLVM's own language, the parts of :mod:`embed.word2vec.kernels.simd`."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANES = 16  # floats of an AVX-512 register; narrower machines take several registers
BLOCK = 6  # outputs taken together: six sums for each of two inputs fit the registers
SLOT = 8  # floats that one input's scores take in the buffer; BLOCK of them are used

LONG = ir.IntType(64)
INT = ir.IntType(32)
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)

_INTEGERS = ir.VectorType(INT, LANES)
_FUSED = ("contract",)  # a product and a sum may become one instruction
_LARGEST_SCORE = 30.0  # where the sigmoid is 0 or 1 in float32


def data_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A function from the number of an argument, an array, to where its data lie."""

    def data(number: int, offset: Any = None) -> Any:
        array = context.make_array(signature.args[number])(context, builder, arguments[number])
        return array.data if offset is None else builder.gep(array.data, [offset])

    return data


@contextlib.contextmanager
def row_parts(builder: Any, width: Any) -> Iterator[Any]:
    """Loop over a row, LANES floats at a time; yields the number of the first."""
    with cgutils.for_range_slice(builder, LONG(0), width, LONG(LANES), LONG) as (d, _):
        yield d


def rows_at(builder: Any, data: Any, offsets: Any) -> list[Any]:
    """Where BLOCK rows of a table begin."""
    return [builder.gep(data, [element(builder, offsets, m)]) for m in range(BLOCK)]


def shares_of(builder: Any, data: Any) -> list[Any]:
    """BLOCK numbers, each spread over a vector."""
    return [spread(builder, element(builder, data, m)) for m in range(BLOCK)]


def scores_of(builder: Any, rows: list[Any], columns: list[Any], width: Any) -> Any:
    """The products of one or two rows with BLOCK others, each row's in a slot of its own."""
    zero = spread(builder, FLOAT(0))
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
    """One entry of an array."""
    return builder.load(builder.gep(data, [LONG(index) if isinstance(index, int) else index]))


def load(builder: Any, row: Any, d: Any) -> Any:
    """LANES floats of a row, from number d."""
    place = builder.bitcast(builder.gep(row, [d]), VECTOR.as_pointer())
    return builder.load(place, align=4)


def store(builder: Any, value: Any, row: Any, d: Any) -> None:
    """Write LANES floats of a row, from number d."""
    place = builder.bitcast(builder.gep(row, [d]), VECTOR.as_pointer())
    builder.store(value, place, align=4)


def spread(builder: Any, value: Any) -> Any:
    """A vector of LANES times the value."""
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.VectorType(value.type, LANES), [value.constant] * LANES)
    nothing = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, value, INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(_INTEGERS, [0] * LANES))


def fused(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """total + left * right."""
    return builder.fadd(total, builder.fmul(left, right, flags=_FUSED), flags=_FUSED)


def add_product(builder: Any, place: Any, left: Any, right: Any) -> None:
    """Add left * right to what stands at a place."""
    builder.store(fused(builder, builder.load(place), left, right), place)


def _shuffle(builder: Any, left: Any, right: Any, order: list[int]) -> Any:
    """Lanes of two vectors, those of the second counted from LANES."""
    return builder.shuffle_vector(left, right, ir.Constant(_INTEGERS, order))


def _halved(builder: Any, left: Any, right: Any, low: list[int], high: list[int]) -> Any:
    """Two vectors folded into one: half of the lanes of each is added to its other half."""
    return builder.fadd(_shuffle(builder, left, right, low), _shuffle(builder, left, right, high))


def _sum_each(builder: Any, vectors: list[Any]) -> Any:
    """Sum the lanes of each of LANES vectors; lane j of the result is the sum of vector j.

    Fifteen folds, each with shuffles that are one instruction, instead of four for each vector.
    """
    halves = [*range(8), *range(16, 24)]
    vectors = [
        _halved(builder, vectors[j], vectors[j + 8], halves, [lane + 8 for lane in halves])
        for j in range(8)
    ]
    quarters = [*range(4), *range(8, 12), *range(16, 20), *range(24, 28)]
    vectors = [
        _halved(builder, vectors[j], vectors[j + 4], quarters, [lane + 4 for lane in quarters])
        for j in range(4)
    ]
    pairs = [q + lane for q in range(0, 16, 4) for lane in (0, 1, 16, 17)]
    vectors = [
        _halved(builder, vectors[j], vectors[j + 2], pairs, [lane + 2 for lane in pairs])
        for j in range(2)
    ]
    singles = [q + lane for q in range(0, 16, 4) for lane in (0, 2, 16, 18)]
    mixed = _halved(builder, vectors[0], vectors[1], singles, [lane + 1 for lane in singles])
    source = [group + lane for group in (0, 8, 4, 12) for lane in (0, 2, 1, 3)]
    return _shuffle(builder, mixed, mixed, [source.index(j) for j in range(LANES)])


def exp(builder: Any, x: Any) -> Any:
    """e to the x by 2^n times a polynomial; relative error below 2e-6, x held within bounds."""
    limit = spread(builder, FLOAT(_LARGEST_SCORE))
    x = builder.select(builder.fcmp_ordered(">", x, limit), limit, x)  # NaN stays NaN
    limit = spread(builder, FLOAT(-_LARGEST_SCORE))
    x = builder.select(builder.fcmp_ordered("<", x, limit), limit, x)
    x = builder.fmul(x, spread(builder, FLOAT(1.4426950408889634)))
    kind = ir.FunctionType(VECTOR, [VECTOR])
    rint = cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{LANES}f32")
    whole = builder.call(rint, [x])
    part = builder.fsub(x, whole)
    # the Taylor series of 2^part at |part| <= 1/2; its next term is 1.2e-7 at most
    coefficients = (
        1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0,
    )  # fmt: skip
    value = spread(builder, FLOAT(coefficients[0]))
    for coefficient in coefficients[1:]:
        value = fused(builder, spread(builder, FLOAT(coefficient)), value, part)
    power = builder.shl(builder.fptosi(whole, _INTEGERS), spread(builder, INT(23)))
    return builder.bitcast(builder.add(builder.bitcast(value, _INTEGERS), power), VECTOR)
