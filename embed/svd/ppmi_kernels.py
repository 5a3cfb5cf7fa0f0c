"""Inner loops of weighting, each over a range of rows."""

import math
from typing import Any

import numpy as np

from corpora.common.jit import compiled


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
    """Sum the subsampled counts of each row and each column."""
    # starts, columns, counts: int64 (V + 1,), int32 (n,), uint32 or int64 (n,); keep: float64
    # (V,); rows: float64 (V,); contexts: float64 (V,)
    for row in range(first, stop):
        total = 0.0
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            column = np.uint32(columns[k])
            total += counts[k] * keep[column]
            contexts[column] += counts[k] * keep[row]
        rows[row] = total * keep[row]
    # a column's own factor is the same in every row: the caller multiplies it once


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
    """Replace counts by max(log(count * row factor * context factor), 0), zeros left out."""
    # starts, columns, counts: int64 (V + 1,), int32 (n,), uint32 or int64 (n,); row_factors,
    # context_factors: float64 (V,); values: float32 (at least as many as the rows have entries);
    # lengths: int64 (V,)
    base = np.uint64(starts[first])
    end = np.uint64(0)
    for row in range(first, stop):
        begun = end
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            column = np.uint32(columns[k])
            ratio = counts[k] * row_factors[row] * context_factors[column]
            if ratio > 1.0:  # most logarithms of PMI need not be taken
                values[end] = math.log(ratio)
                columns[base + end] = column
                end += np.uint64(1)
        lengths[row] = end - begun
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
    """Replace counts by count * row factor * context factor, or by log(1 + that)."""
    # starts, columns, counts: int64 (V + 1,), int32 (n,), uint32 or int64 (n,); row_factors,
    # context_factors: float64 (V,); values: float32; lengths: int64 (V,)
    end = np.uint64(0)
    for row in range(first, stop):
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            x = counts[k] * row_factors[row] * context_factors[np.uint32(columns[k])]
            values[end] = math.log1p(x) if logarithm else x
            end += np.uint64(1)
        lengths[row] = starts[row + 1] - starts[row]
    return end
