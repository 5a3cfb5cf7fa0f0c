"""Vector instructions for the inner loops of word2vec, as functions that numba can call.

Rows of a table are processed LANES floats at a time, with intermediate sums in registers. A row is
given by its offset in floats, row times width. Nothing is bounds-checked. The tests have the same
loops in plain NumPy.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from firth.corpora.common.jit import emitted
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


@emitted
def score_pair(
    builder: Any, inputs: Any, first: Any, second: Any, outputs: Any, offsets: Any, start: Any,
    width: Any, scores: Any, place: Any,
) -> None:  # fmt: skip
    """Write the dot products of two input rows with BLOCK output rows into two slots.

    ``scores[place + SLOT n + m]`` is input n (``first`` or ``second``) times output m, at
    ``offsets[start + m]``.
    """
    rows = [builder.gep(inputs, [row]) for row in (first, second)]
    columns = rows_at(builder, outputs, offsets, start)
    store(builder, scores_of(builder, rows, columns, width), scores, place)


@emitted
def score_one(
    builder: Any, row: Any, outputs: Any, offsets: Any, start: Any, width: Any, scores: Any
) -> None:
    """Write the dot products of a row with BLOCK output rows into the first slot of ``scores``."""
    columns = rows_at(builder, outputs, offsets, start)
    store(builder, scores_of(builder, [row], columns, width), scores, LONG(0))


@emitted
def score_to_step(
    builder: Any, scores: Any, place: Any, labels: Any, start: Any, rate: Any, likelihoods: Any
) -> None:
    """Turn two slots of scores into steps, ``rate (label - sigmoid(score))``.

    In ``labels[start : start + LANES]``, float32, 1 marks a pair of the text, 0 one of the noise,
    and -1 padding, whose step is 0. ``likelihoods``, float64 (LANES,), are multiplied by the
    probability that the model gives to each label.
    """
    score = load(builder, scores, place)
    label = load(builder, labels, start)
    one, zero = broadcast(builder, FLOAT(1)), broadcast(builder, FLOAT(0))
    inverse = exp(builder, builder.fneg(score))
    sigmoid = builder.fdiv(one, builder.fadd(one, inverse))
    unused = builder.fcmp_ordered("<", label, zero)
    step = builder.fmul(broadcast(builder, rate), builder.fsub(label, sigmoid))
    store(builder, builder.select(unused, zero, step), scores, place)
    other = builder.fmul(sigmoid, inverse)  # 1 - sigmoid, accurate even if small
    likelihood = builder.select(builder.fcmp_ordered("==", label, one), sigmoid, other)
    likelihood = builder.select(unused, one, likelihood)
    doubles = ir.VectorType(ir.DoubleType(), LANES)
    product = builder.bitcast(likelihoods, doubles.as_pointer())
    value = builder.fmul(builder.load(product, align=8), builder.fpext(likelihood, doubles))
    builder.store(value, product, align=8)


@emitted
def step_block(
    builder: Any, inputs: Any, input_offsets: Any, n_inputs: Any, outputs: Any,
    output_offsets: Any, start: Any, result_offsets: Any, shares: Any, width: Any, steps: Any,
) -> None:  # fmt: skip
    """Update input rows and BLOCK output rows by the gradient of their scores.

    Output m is at ``output_offsets[start + m]``. Input n gains the sum of ``steps[SLOT n + m]``
    times output m. The sum of ``steps[SLOT n + m]`` times input n, plus ``shares[start + m]``
    (1 or 0) times output m itself, is written at ``result_offsets[start + m]``. Both use values
    before this call, except that updates of a row listed twice add up.
    """
    columns = rows_at(builder, outputs, output_offsets, start)
    results = rows_at(builder, outputs, result_offsets, start)
    shares = shares_of(builder, shares, start)
    gains = [cgutils.alloca_once(builder, VECTOR) for _ in columns]
    with row_parts(builder, width) as d:
        right = [load(builder, column, d) for column in columns]
        for gain in gains:
            builder.store(broadcast(builder, FLOAT(0)), gain)
        with cgutils.for_range(builder, n_inputs, intp=LONG) as loop:
            row = builder.gep(inputs, [element(builder, input_offsets, loop.index)])
            left = moved = load(builder, row, d)
            slot = builder.mul(loop.index, LONG(SLOT))
            for m in range(BLOCK):
                step = broadcast(builder, element(builder, steps, builder.add(slot, LONG(m))))
                moved = fused(builder, moved, step, right[m])
                add_product(builder, gains[m], step, left)
            store(builder, moved, row, d)
        for column, result, share, gain in zip(columns, results, shares, gains, strict=True):
            total = fused(builder, builder.load(gain), share, load(builder, column, d))
            store(builder, total, result, d)


@emitted
def step_one(
    builder: Any, row: Any, gain: Any, outputs: Any, offsets: Any, start: Any,
    result_offsets: Any, shares: Any, width: Any, steps: Any,
) -> None:  # fmt: skip
    """Update BLOCK output rows by the gradient of their scores, and add the row's to ``gain``.

    ``gain`` grows by the sum of ``steps[m]`` times output m. ``steps[m]`` times the row, plus
    ``shares[start + m]`` (1 or 0) times output m itself, is written at
    ``result_offsets[start + m]``; an output listed twice is updated twice.
    """
    columns = rows_at(builder, outputs, offsets, start)
    results = rows_at(builder, outputs, result_offsets, start)
    shares = shares_of(builder, shares, start)
    steps = [broadcast(builder, element(builder, steps, m)) for m in range(BLOCK)]
    with row_parts(builder, width) as d:
        left = load(builder, row, d)
        total = load(builder, gain, d)
        for right, step in zip([load(builder, c, d) for c in columns], steps, strict=True):
            total = fused(builder, total, step, right)
        store(builder, total, gain, d)
        for column, result, share, step in zip(columns, results, shares, steps, strict=True):
            kept = builder.fmul(share, load(builder, column, d))
            store(builder, fused(builder, kept, step, left), result, d)


@emitted
def sum_rows(
    builder: Any, table: Any, offsets: Any, n: Any, width: Any, share: Any, totals: Any, place: Any
) -> None:
    """Write the sum of n rows, times ``share``, to ``totals[place : place + width]``."""
    share, totals = broadcast(builder, share), builder.gep(totals, [place])
    total = cgutils.alloca_once(builder, VECTOR)
    with row_parts(builder, width) as d:
        builder.store(broadcast(builder, FLOAT(0)), total)
        with cgutils.for_range(builder, n, intp=LONG) as loop:
            row = builder.gep(table, [element(builder, offsets, loop.index)])
            builder.store(builder.fadd(builder.load(total), load(builder, row, d)), total)
        store(builder, builder.fmul(share, builder.load(total)), totals, d)


@emitted
def add_to_rows(
    builder: Any, table: Any, offsets: Any, n: Any, width: Any, gains: Any, place: Any
) -> None:
    """Add ``gains[place : place + width]`` to n rows, twice to a row listed twice."""
    gains = builder.gep(gains, [place])
    with row_parts(builder, width) as d:
        more = load(builder, gains, d)
        with cgutils.for_range(builder, n, intp=LONG) as loop:
            row = builder.gep(table, [element(builder, offsets, loop.index)])
            store(builder, builder.fadd(load(builder, row, d), more), row, d)


@emitted
def prefetch_row(builder: Any, table: Any, offset: Any, width: Any) -> None:
    """Prefetch the cache lines of a row for writing."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, INT, INT, INT])
    function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
    row = builder.gep(table, [offset])
    with row_parts(builder, width) as d:
        line = builder.bitcast(builder.gep(row, [d]), byte)
        builder.call(function, [line, INT(1), INT(3), INT(1)])
