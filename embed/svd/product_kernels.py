"""Inner loop of the SVD: a sparse matrix times a narrow dense block."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from firth.corpora.common.jit import compiled, emitted

# Columns of a block: two AVX-512 vectors, four AVX2 vectors. Wider blocks would save little per
# column and, at the same basis size, capture less.
WIDTH = 32

_AHEAD = 32  # entries between prefetch and use; 16 is a fifth slower on enwiki2015-AA
_LANES = 2  # independent sums, because each addition to one sum waits for the one before

_LONG = ir.IntType(64)
_BLOCK = ir.VectorType(ir.FloatType(), WIDTH)
_FUSED = ("contract",)  # let LLVM fuse a product and a sum into one instruction


@emitted
def _write_row(
    builder: Any, columns: Any, values: Any, start: Any, stop: Any, last: Any, block: Any,
    product: Any, r: Any,
) -> None:  # fmt: skip
    """Write row r of the product, with its sums in registers.

    A loop over NumPy slices is 2.3 times slower: it loads and stores the sums every few entries,
    and tests each time whether block and product overlap.
    """
    zero = ir.Constant(_BLOCK, [0.0] * WIDTH)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_LANES)]

    def add(k: Any, lane: int) -> None:
        ahead = builder.add(k, _LONG(_AHEAD))
        ahead = builder.select(builder.icmp_unsigned("<", ahead, last), ahead, last)
        prefetch(
            builder, _block_row(builder, block, _column_at(builder, columns, ahead)), 4 * WIDTH
        )
        row = _block_row(builder, block, _column_at(builder, columns, k))
        value = _broadcast(builder, builder.load(builder.gep(values, [k])))
        term = builder.fmul(value, builder.load(row, align=4), flags=_FUSED)
        builder.store(builder.fadd(builder.load(sums[lane]), term, flags=_FUSED), sums[lane])

    paired = builder.sub(stop, builder.urem(builder.sub(stop, start), _LONG(_LANES)))
    with cgutils.for_range_slice(builder, start, paired, _LONG(_LANES), _LONG) as (k, _):
        for lane in range(_LANES):
            add(builder.add(k, _LONG(lane)), lane)
    with cgutils.for_range_slice(builder, paired, stop, _LONG(1), _LONG) as (k, _):
        add(k, 0)
    total = builder.load(sums[0])
    for other in sums[1:]:
        total = builder.fadd(total, builder.load(other))
    builder.store(total, _block_row(builder, product, r), align=4)


def _column_at(builder: Any, columns: Any, k: Any) -> Any:
    """Return the column of entry k as 64 bits."""
    return builder.zext(builder.load(builder.gep(columns, [k])), _LONG)


def _block_row(builder: Any, data: Any, row: Any) -> Any:
    """Return a pointer to a row of a block, as one vector."""
    place = builder.gep(data, [builder.mul(row, _LONG(WIDTH))])
    return builder.bitcast(place, _BLOCK.as_pointer())


def _broadcast(builder: Any, value: Any) -> Any:
    """Return a vector with the value in all WIDTH lanes."""
    undefined = ir.Constant(_BLOCK, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, undefined, zeros)


def prefetch(builder: Any, place: Any, n_bytes: int) -> None:
    """Prefetch the cache lines of some bytes."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
    place = builder.bitcast(place, byte)
    for offset in range(0, n_bytes, 64):
        line = builder.gep(place, [_LONG(offset)])
        builder.call(function, [line, number(0), number(3), number(1)])


@compiled
def multiply_rows(
    starts: Any, columns: Any, values: Any, block: Any, first: Any, last: Any, product: Any
) -> None:
    """Write rows ``first`` to ``last - 1`` of a CSR matrix times a dense block.

    The entries of a row are summed in the order stored, even and odd ones
    separately, so the result does not depend on how rows are split over threads.
    Nothing is bounds-checked.
    """
    # starts: int64 (V + 1,); columns: uint32 (n,); values: float32 (n,)
    # block: float32 (C, WIDTH), product: float32 (V, WIDTH), both contiguous, must not overlap
    last_entry = len(columns) - 1  # prefetches stop here
    for r in range(first, last):
        _write_row(
            columns, values, starts[r], starts[r + 1], last_entry, block, product, np.int64(r)
        )
