"""Inner loops of counting: invert a text, count rows, add the rows of several blocks.

A row is counted in a dense accumulator. Columns are noted when they are first
touched, their bits set in a bitmap, and the bitmap read in order: columns come
out sorted without a sort. Indices are unsigned throughout, because a signed
one costs numba a test for a negative index at every access.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from corpora.common.jit import compiled

_ONE = np.uint64(1)
_WORD = np.uint64(6)  # a word of the bitmap holds 2**6 columns
_BIT = np.uint64(63)
_AHEAD = 12  # positions between prefetch and use; 8 to 16 are alike on AA


@intrinsic
def _lowest_bit(_context: Any, word: Any) -> Any:
    """Number of the lowest set bit of a word that is not zero."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


@intrinsic
def _prefetch(_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``: rare words lie all over the text."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        byte = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        builder.call(function, [address, number(0), number(3), number(1)])
        return target.get_dummy_value()

    return types.void(array, index), generate


@compiled
def lay_out(rows: Any, offsets: Any, separator: Any, text: Any) -> Any:
    """Write the units of a shard with a separator after each; units of one word are left out."""
    # rows: int32 (n_tokens,); offsets: int64 (n_units + 1,); text: uint16 or uint32 (n_tokens +
    # n_units,)
    at = np.uint64(0)
    for unit in range(len(offsets) - 1):
        if offsets[unit + 1] - offsets[unit] < 2:
            continue
        for i in range(offsets[unit], offsets[unit + 1]):
            text[at] = rows[i]
            at += _ONE
        text[at] = separator
        at += _ONE
    return at


@compiled
def histogram(text: Any, start: Any, stop: Any, counts: Any) -> None:
    """Count every type of ``text[start:stop]``."""
    # text: uint16 or uint32 (n,); counts: int64 (n_types,)
    for i in range(np.uint64(start), np.uint64(stop)):
        counts[np.uint64(text[i])] += 1


@compiled
def scatter(text: Any, start: Any, stop: Any, free: Any, positions: Any) -> None:
    """Write the positions of ``text[start:stop]`` grouped by type, ascending in each."""
    # text: uint16 or uint32 (n,); free: int64 (n_types,); positions: int32 (n,)
    for i in range(np.uint64(start), np.uint64(stop)):
        word = np.uint64(text[i])
        positions[np.uint64(free[word])] = i
        free[word] += 1


@compiled
def count_rows(
    text: Any,
    positions: Any,
    starts: Any,
    first: Any,
    stop: Any,
    before: Any,
    after: Any,
    weights: Any,
    scratch: Any,
    columns: Any,
    counts: Any,
    lengths: Any,
) -> Any:
    """Count the contexts of the words ``first`` to ``stop - 1``, one row after another."""
    # text: uint16 or uint32 (n,); positions: int32 (n,); starts: int64 (n_words + 2,); weights:
    # uint32 or int64 (window + 1,); columns, counts: int32 (capacity,), uint32 or int64
    # (capacity,); lengths: int64 (stop - first,)
    sums, bitmap, touched = scratch
    separator = len(starts) - 2
    end = np.uint64(0)
    last = np.uint64(len(positions) - 1)
    for word in range(np.uint64(first), np.uint64(stop)):
        begun = end
        seen = np.uint64(0)
        for k in range(np.uint64(starts[word]), np.uint64(starts[word + _ONE])):
            at = np.uint64(positions[k])
            _prefetch(text, positions[min(k + np.uint64(_AHEAD), last)])
            for distance in range(_ONE, np.uint64(before + 1)):
                column = text[at - distance]
                if column == separator:
                    break
                total = sums[column]
                touched[seen] = column  # kept only if it is new: no branch to mispredict
                seen += np.uint64(total == 0)
                sums[column] = total + weights[distance]
            for distance in range(_ONE, np.uint64(after + 1)):
                column = text[at + distance]
                if column == separator:
                    break
                total = sums[column]
                touched[seen] = column
                seen += np.uint64(total == 0)
                sums[column] = total + weights[distance]
        end = _write_row(sums, bitmap, touched, seen, columns, counts, end)
        lengths[word - np.uint64(first)] = end - begun
    return end


@compiled
def add_rows(
    block_columns: Any,
    block_counts: Any,
    starts: Any,
    scratch: Any,
    columns: Any,
    counts: Any,
    lengths: Any,
) -> Any:
    """Add the same rows of several blocks of counts."""
    # block_columns, block_counts: int32 (n,), uint32 or int64 (n,); starts: int64 (n_blocks,
    # n_rows + 1); columns, counts: int32 (capacity,), uint32 or int64 (capacity,); lengths: int64
    # (n_rows,)
    sums, bitmap, touched = scratch
    end = np.uint64(0)
    for row in range(starts.shape[1] - 1):
        begun = end
        seen = np.uint64(0)
        for block in range(starts.shape[0]):
            for k in range(np.uint64(starts[block, row]), np.uint64(starts[block, row + 1])):
                column = np.uint32(block_columns[k])
                total = sums[column]
                touched[seen] = column
                seen += np.uint64(total == 0)
                sums[column] = total + block_counts[k]
        end = _write_row(sums, bitmap, touched, seen, columns, counts, end)
        lengths[row] = end - begun
    return end


@compiled
def _write_row(
    sums: Any, bitmap: Any, touched: Any, seen: Any, columns: Any, counts: Any, end: Any
) -> Any:
    """Write the touched columns in order from ``end`` on; leave accumulator and bitmap zero."""
    top = np.uint64(0)
    for i in range(seen):
        column = np.uint64(touched[i])
        bitmap[column >> _WORD] |= _ONE << (column & _BIT)
        top = max(top, column >> _WORD)
    for word in range(top + _ONE if seen else np.uint64(0)):
        bits = bitmap[word]
        bitmap[word] = 0
        while bits != 0:
            column = (word << _WORD) + _lowest_bit(bits)
            bits &= bits - _ONE
            columns[end] = column
            counts[end] = sums[column]
            sums[column] = 0
            end += _ONE
    return end
