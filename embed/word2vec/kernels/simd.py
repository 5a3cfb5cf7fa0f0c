"""Vector instructions for the inner loops of word2vec, as functions that numba can call.

Rows of a table are processed LANES floats at a time, with intermediate sums in registers. A row is
given by its offset in floats, row times width. Nothing is bounds-checked. The tests have the same
loops in plain NumPy.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from firth.embed.word2vec.kernels.simd_ir import (
    BLOCK,
    FLOAT,
    INT,
    LANES,
    LONG,
    SLOT,
    VECTOR,
    add_product,
    broadcast,
    data_of,
    element,
    exp,
    fused,
    load,
    row_parts,
    rows_at,
    scores_of,
    shares_of,
    store,
)  # fmt: skip


@intrinsic
def score_pair(
    _context: Any,
    inputs: Any,
    first: Any,
    second: Any,
    outputs: Any,
    offsets: Any,
    start: Any,
    width: Any,
    scores: Any,
    place: Any,
) -> Any:
    """Write the dot products of two input rows with BLOCK output rows into two slots.

    ``scores[place + SLOT n + m]`` is input n (``first`` or ``second``) times output m, at
    ``offsets[start + m]``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        rows = [data(0, arguments[1]), data(0, arguments[2])]
        columns = rows_at(builder, data(3), data(4, arguments[5]))
        store(builder, scores_of(builder, rows, columns, arguments[6]), data(7), arguments[8])
        return context.get_dummy_value()

    signature = types.void(inputs, first, second, outputs, offsets, start, width, scores, place)
    return signature, generate


@intrinsic
def score_one(
    _context: Any, row: Any, outputs: Any, offsets: Any, start: Any, width: Any, scores: Any
) -> Any:
    """Write the dot products of a row with BLOCK output rows into the first slot of ``scores``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        columns = rows_at(builder, data(1), data(2, arguments[3]))
        store(builder, scores_of(builder, [data(0)], columns, arguments[4]), data(5), LONG(0))
        return context.get_dummy_value()

    return types.void(row, outputs, offsets, start, width, scores), generate


@intrinsic
def score_to_step(
    _context: Any, scores: Any, place: Any, labels: Any, start: Any, rate: Any, likelihoods: Any
) -> Any:
    """Turn two slots of scores into steps, ``rate (label - sigmoid(score))``.

    In ``labels[start : start + LANES]``, float32, 1 marks a pair of the text, 0 one of the noise,
    and -1 padding, whose step is 0. ``likelihoods``, float64 (LANES,), are multiplied by the
    probability that the model gives to each label.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        score = load(builder, data(0), arguments[1])
        label = load(builder, data(2), arguments[3])
        one, zero = broadcast(builder, FLOAT(1)), broadcast(builder, FLOAT(0))
        inverse = exp(builder, builder.fneg(score))
        sigmoid = builder.fdiv(one, builder.fadd(one, inverse))
        unused = builder.fcmp_ordered("<", label, zero)
        step = builder.fmul(broadcast(builder, arguments[4]), builder.fsub(label, sigmoid))
        store(builder, builder.select(unused, zero, step), data(0), arguments[1])
        other = builder.fmul(sigmoid, inverse)  # 1 - sigmoid, accurate even if small
        likelihood = builder.select(builder.fcmp_ordered("==", label, one), sigmoid, other)
        likelihood = builder.select(unused, one, likelihood)
        doubles = ir.VectorType(ir.DoubleType(), LANES)
        place = builder.bitcast(data(5), doubles.as_pointer())
        product = builder.fmul(builder.load(place, align=8), builder.fpext(likelihood, doubles))
        builder.store(product, place, align=8)
        return context.get_dummy_value()

    return types.void(scores, place, labels, start, rate, likelihoods), generate


@intrinsic
def step_block(
    _context: Any,
    inputs: Any,
    input_offsets: Any,
    n_inputs: Any,
    outputs: Any,
    output_offsets: Any,
    start: Any,
    result_offsets: Any,
    shares: Any,
    width: Any,
    steps: Any,
) -> Any:
    """Update input rows and BLOCK output rows by the gradient of their scores.

    Output m is at ``output_offsets[start + m]``. Input n gains the sum of ``steps[SLOT n + m]``
    times output m. The sum of ``steps[SLOT n + m]`` times input n, plus ``shares[start + m]``
    (1 or 0) times output m itself, is written at ``result_offsets[start + m]``. Both use values
    before this call, except that updates of a row listed twice add up.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        columns = rows_at(builder, data(3), data(4, arguments[5]))
        results = rows_at(builder, data(3), data(6, arguments[5]))
        shares = shares_of(builder, data(7, arguments[5]))
        gains = [cgutils.alloca_once(builder, VECTOR) for _ in columns]
        with row_parts(builder, arguments[8]) as d:
            right = [load(builder, column, d) for column in columns]
            for gain in gains:
                builder.store(broadcast(builder, FLOAT(0)), gain)
            with cgutils.for_range(builder, arguments[2], intp=LONG) as loop:
                row = builder.gep(data(0), [element(builder, data(1), loop.index)])
                left = moved = load(builder, row, d)
                slot = builder.mul(loop.index, LONG(SLOT))
                for m in range(BLOCK):
                    step = broadcast(builder, element(builder, data(9), builder.add(slot, LONG(m))))
                    moved = fused(builder, moved, step, right[m])
                    add_product(builder, gains[m], step, left)
                store(builder, moved, row, d)
            for column, result, share, gain in zip(columns, results, shares, gains, strict=True):
                total = fused(builder, builder.load(gain), share, load(builder, column, d))
                store(builder, total, result, d)
        return context.get_dummy_value()

    signature = types.void(
        inputs,
        input_offsets,
        n_inputs,
        outputs,
        output_offsets,
        start,
        result_offsets,
        shares,
        width,
        steps,
    )
    return signature, generate


@intrinsic
def step_one(
    _context: Any,
    row: Any,
    gain: Any,
    outputs: Any,
    offsets: Any,
    start: Any,
    result_offsets: Any,
    shares: Any,
    width: Any,
    steps: Any,
) -> Any:
    """Update BLOCK output rows by the gradient of their scores, and add the row's to ``gain``.

    ``gain`` grows by the sum of ``steps[m]`` times output m. ``steps[m]`` times the row, plus
    ``shares[start + m]`` (1 or 0) times output m itself, is written at
    ``result_offsets[start + m]``; an output listed twice is updated twice.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        columns = rows_at(builder, data(2), data(3, arguments[4]))
        results = rows_at(builder, data(2), data(5, arguments[4]))
        shares = shares_of(builder, data(6, arguments[4]))
        steps = [broadcast(builder, element(builder, data(8), m)) for m in range(BLOCK)]
        with row_parts(builder, arguments[7]) as d:
            left = load(builder, data(0), d)
            total = load(builder, data(1), d)
            for right, step in zip([load(builder, c, d) for c in columns], steps, strict=True):
                total = fused(builder, total, step, right)
            store(builder, total, data(1), d)
            for column, result, share, step in zip(columns, results, shares, steps, strict=True):
                kept = builder.fmul(share, load(builder, column, d))
                store(builder, fused(builder, kept, step, left), result, d)
        return context.get_dummy_value()

    return types.void(
        row, gain, outputs, offsets, start, result_offsets, shares, width, steps
    ), generate


@intrinsic
def sum_rows(
    _context: Any,
    table: Any,
    offsets: Any,
    n: Any,
    width: Any,
    share: Any,
    totals: Any,
    place: Any,
) -> Any:
    """Write the sum of n rows, times ``share``, to ``totals[place : place + width]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        share = broadcast(builder, arguments[4])
        total = cgutils.alloca_once(builder, VECTOR)
        with row_parts(builder, arguments[3]) as d:
            builder.store(broadcast(builder, FLOAT(0)), total)
            with cgutils.for_range(builder, arguments[2], intp=LONG) as loop:
                row = builder.gep(data(0), [element(builder, data(1), loop.index)])
                builder.store(builder.fadd(builder.load(total), load(builder, row, d)), total)
            value = builder.fmul(share, builder.load(total))
            store(builder, value, data(5, arguments[6]), d)
        return context.get_dummy_value()

    return types.void(table, offsets, n, width, share, totals, place), generate


@intrinsic
def add_to_rows(
    _context: Any, table: Any, offsets: Any, n: Any, width: Any, gains: Any, place: Any
) -> Any:
    """Add ``gains[place : place + width]`` to n rows, twice to a row listed twice."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        with row_parts(builder, arguments[3]) as d:
            more = load(builder, data(4, arguments[5]), d)
            with cgutils.for_range(builder, arguments[2], intp=LONG) as loop:
                row = builder.gep(data(0), [element(builder, data(1), loop.index)])
                store(builder, builder.fadd(load(builder, row, d), more), row, d)
        return context.get_dummy_value()

    return types.void(table, offsets, n, width, gains, place), generate


@intrinsic
def prefetch_row(_context: Any, table: Any, offset: Any, width: Any) -> Any:
    """Prefetch the cache lines of a row for writing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, INT, INT, INT])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        row = data(0, arguments[1])
        with row_parts(builder, arguments[2]) as d:
            line = builder.bitcast(builder.gep(row, [d]), byte)
            builder.call(function, [line, INT(1), INT(3), INT(1)])
        return context.get_dummy_value()

    return types.void(table, offset, width), generate
