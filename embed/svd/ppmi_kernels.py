"""Inner loops of weighting, over the rows ``first`` to ``stop - 1`` of a co-occurrence matrix.

``starts`` int64 (V + 1,), ``columns`` int32 (n,) and ``counts`` uint32 or int64 (n,) hold it.
"""

import math
from typing import Any

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def margins(
    starts: Any,
    columns: Any,
    counts: Any,
    first: Any,
    stop: Any,
    keep: Any,
    rows: Any,
    contexts: Any,
) -> None:
    """Write the sum of subsampled counts of each row; add those of each column."""
    # keep, rows, contexts: float64 (V,)
    for row in range(first, stop):
        total = 0.0
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            column = np.uint32(columns[k])
            total += counts[k] * keep[column]
            contexts[column] += counts[k] * keep[row]
        rows[row] = total * keep[row]
    # a column's own factor is the same in every row, so the caller multiplies by it once


@compiled
def positive_log(
    starts: Any,
    columns: Any,
    counts: Any,
    first: Any,
    stop: Any,
    row_factors: Any,
    context_factors: Any,
    values: Any,
    lengths: Any,
) -> Any:
    """Write max(log(count * row factor * context factor), 0); return the number of entries.

    Zeros are dropped and ``columns`` is compacted in place, from the first entry of row ``first``.
    ``values`` may share the memory of these rows' counts: each count is read before its place
    is overwritten.
    """
    # row_factors, context_factors: float64 (V,); values: float32, at least one per entry
    # lengths: int64 (V,), entries left in each row
    base = np.uint64(starts[first])
    end = np.uint64(0)
    for row in range(first, stop):
        row_start = end
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            column = np.uint32(columns[k])
            ratio = counts[k] * row_factors[row] * context_factors[column]
            if ratio > 1.0:  # saves most of the logarithms
                values[end] = math.log(ratio)
                columns[base + end] = column
                end += np.uint64(1)
        lengths[row] = end - row_start
    return end


@compiled
def scaled(
    starts: Any,
    columns: Any,
    counts: Any,
    first: Any,
    stop: Any,
    row_factors: Any,
    context_factors: Any,
    logarithm: Any,
    values: Any,
    lengths: Any,
) -> Any:
    """Write count * row factor * context factor, or log(1 + that); return the number of entries."""
    # other arguments: as for positive_log
    end = np.uint64(0)
    for row in range(first, stop):
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            x = counts[k] * row_factors[row] * context_factors[np.uint32(columns[k])]
            values[end] = math.log1p(x) if logarithm else x
            end += np.uint64(1)
        lengths[row] = starts[row + 1] - starts[row]
    return end
