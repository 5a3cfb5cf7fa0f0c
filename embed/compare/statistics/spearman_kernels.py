"""Spearman's correlation of many bootstrap draws of the same items."""

from typing import Any

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def rank_correlations(
    rows: Any, x_order: Any, x_stops: Any, y_order: Any, y_stops: Any, scores: Any
) -> None:
    """Write Spearman's correlation of each draw to ``scores``; NaN if a series is constant.

    With N items drawn, t of them tied at one value and s below it, twice the distance of their
    mean rank from the middle is 2 s + t - N. Squared and summed over all items drawn, that is
    (N^3 - sum of t^3) / 3. All of these are integers, exact in float64 up to N = 200,000.
    """
    # rows: float64 (B, n), item counts; scores: float64 (B,), output
    # x_order, y_order: int64 (n,), items in ascending order
    # x_stops: int64 (n_x,), y_stops: int64 (n_y,), ends of runs of equal values
    ranks = np.empty(rows.shape[1])
    for b in range(rows.shape[0]):
        size = rows[b].sum()
        x_cubes, y_cubes, products = 0.0, 0.0, 0.0
        start, below = 0, 0.0
        for stop in x_stops:
            tied = 0.0
            for i in range(start, stop):
                tied += rows[b, x_order[i]]
            for i in range(start, stop):
                ranks[x_order[i]] = 2.0 * below + tied - size
            start, below = stop, below + tied
            x_cubes += tied * tied * tied
        start, below = 0, 0.0
        for stop in y_stops:
            tied, across = 0.0, 0.0
            for i in range(start, stop):
                tied += rows[b, y_order[i]]
                across += rows[b, y_order[i]] * ranks[y_order[i]]
            products += across * (2.0 * below + tied - size)
            start, below = stop, below + tied
            y_cubes += tied * tied * tied
        spread = (size**3 - x_cubes) * (size**3 - y_cubes)
        scores[b] = 3.0 * products / np.sqrt(spread) if spread > 0.0 else np.nan
