"""Inner loops of counting: invert a text, count rows, add rows of partial counts.

A row is counted in a dense accumulator. Columns are listed when they are first
touched, then marked in a bitmap that is read in order, so columns come out
sorted without a sort. Indices are unsigned throughout, because numba tests a
signed index for being negative at every access.

Text is rows of words as uint16 or uint32. Words beyond the ones that are counted all have
the number after the last of these; the number after that is the separator, before the first
unit and after each. A unit is a sentence, paragraph or document.
No output is bounds-checked.
"""

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from firth.corpora.common.jit import compiled, emitted
from firth.embed.svd.product_kernels import prefetch

_ONE = np.uint64(1)
_WORD_SHIFT = np.uint64(6)  # a 64-bit word of the bitmap holds 2**6 columns
_BIT_MASK = np.uint64(63)
_AHEAD = 12  # positions between prefetch and use; 8 to 16 are equally fast on enwiki2015-AA


@partial(emitted, result=types.uint64)
def _lowest_bit(builder: Any, word: Any) -> Any:
    """Return the index of the lowest set bit; ``word`` must not be zero."""
    return builder.cttz(word, ir.Constant(ir.IntType(1), 1))


@emitted
def _prefetch(builder: Any, array: Any, index: Any) -> None:
    """Prefetch the cache line of ``array[index]``; rare words are scattered over the text."""
    prefetch(builder, builder.gep(array, [index]), 1)


@compiled
def lay_out(rows: Any, offsets: Any, separator: Any, text: Any) -> Any:
    """Write the units of a shard, a separator after each, and return the length of the text.

    Words beyond the counted ones become one type. Units of one word are left out: they have no
    contexts.
    """
    # rows: int32 (n_tokens,); offsets: int64 (n_units + 1,)
    # text: output, capacity n_tokens + n_units
    at = np.uint64(0)
    for unit in range(len(offsets) - 1):
        if offsets[unit + 1] - offsets[unit] < 2:
            continue
        for i in range(offsets[unit], offsets[unit + 1]):
            text[at] = min(rows[i], separator - 1)
            at += _ONE
        text[at] = separator
        at += _ONE
    return at


@compiled
def histogram(text: Any, start: Any, stop: Any, counts: Any) -> None:
    """Add the occurrences of each type in ``text[start:stop]`` to ``counts``."""
    # counts: int64 (n_types,)
    for i in range(np.uint64(start), np.uint64(stop)):
        counts[np.uint64(text[i])] += 1


@compiled
def scatter(text: Any, start: Any, stop: Any, free: Any, positions: Any) -> None:
    """Write the positions of ``text[start:stop]`` grouped by type, ascending in each."""
    # free: int64 (n_types,), where the next position of each type goes, advanced in place
    # positions: int32 (n,), output
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
    """Count the contexts of the words ``first`` to ``stop - 1``; return the number of entries."""
    # positions: int32 (n,), word w is at positions[starts[w]:starts[w + 1]]
    # starts: int64 (n_words + 3,): of the words, of all others together, of the separator
    # weights: uint32 or int64 (window + 1,), by distance; their type is the accumulator's
    # scratch: accumulator (n_words + 1,), bitmap uint64, touched uint32 (n_words + 2,); the first
    #   two are zero before and after
    # columns: int32 (capacity,), counts: as weights (capacity,): the rows end to end
    # lengths: int64 (stop - first,), entries of each row
    sums, bitmap, touched = scratch
    separator = len(starts) - 2
    end = np.uint64(0)
    last = np.uint64(len(positions) - 1)
    for word in range(np.uint64(first), np.uint64(stop)):
        row_start = end
        seen = np.uint64(0)
        for k in range(np.uint64(starts[word]), np.uint64(starts[word + _ONE])):
            at = np.uint64(positions[k])
            _prefetch(text, positions[min(k + np.uint64(_AHEAD), last)])
            for distance in range(_ONE, np.uint64(before + 1)):
                column = text[at - distance]
                if column == separator:
                    break
                total = sums[column]
                touched[seen] = column  # overwritten unless it is new: no branch to mispredict
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
        if end > row_start and columns[end - _ONE] == separator - 1:  # the highest column there is
            end -= _ONE
        lengths[word - np.uint64(first)] = end - row_start
    return end


@compiled
def add_rows(
    partial_columns: Any,
    partial_counts: Any,
    starts: Any,
    scratch: Any,
    columns: Any,
    counts: Any,
    lengths: Any,
) -> Any:
    """Add the same rows of several partial counts; return the number of entries."""
    # partial_columns, partial_counts: (n,), the partial counts end to end
    # starts: int64 (n_partials, n_rows + 1), row r of part p is [starts[p, r]:starts[p, r + 1]]
    # scratch, columns, counts, lengths: as for count_rows
    sums, bitmap, touched = scratch
    end = np.uint64(0)
    for row in range(starts.shape[1] - 1):
        row_start = end
        seen = np.uint64(0)
        for part in range(starts.shape[0]):
            for k in range(np.uint64(starts[part, row]), np.uint64(starts[part, row + 1])):
                column = np.uint32(partial_columns[k])
                total = sums[column]
                touched[seen] = column
                seen += np.uint64(total == 0)
                sums[column] = total + partial_counts[k]
        end = _write_row(sums, bitmap, touched, seen, columns, counts, end)
        lengths[row] = end - row_start
    return end


@compiled
def _write_row(
    sums: Any, bitmap: Any, touched: Any, seen: Any, columns: Any, counts: Any, end: Any
) -> Any:
    """Append the touched columns in order and return the new end; zero accumulator and bitmap."""
    top = np.uint64(0)
    for i in range(seen):
        column = np.uint64(touched[i])
        bitmap[column >> _WORD_SHIFT] |= _ONE << (column & _BIT_MASK)
        top = max(top, column >> _WORD_SHIFT)
    for word in range(top + _ONE if seen else np.uint64(0)):
        bits = bitmap[word]
        bitmap[word] = 0
        while bits != 0:
            column = (word << _WORD_SHIFT) + _lowest_bit(bits)
            bits &= bits - _ONE
            columns[end] = column
            counts[end] = sums[column]
            sums[column] = 0
            end += _ONE
    return end
