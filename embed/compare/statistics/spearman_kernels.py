"""The inner loop of Spearman's correlation over many draws of the same items."""

from typing import Any

import numpy as np

from corpora.common.jit import compiled


@compiled
def rank_correlations(
    rows: Any, x_order: Any, x_stops: Any, y_order: Any, y_stops: Any, scores: Any
) -> None:
    """Correlate mean ranks in each draw.

    With N items drawn, t of them of one value and s below it, twice the distance of
    their mean rank from the middle is 2 s + t - N; squared and summed over all items
    drawn that is (N^3 - sum of t^3) / 3. All of these are whole numbers, exact in
    float64 up to N = 200,000.
    """
    # rows: float64 (B, n); x_order: int64 (n,); x_stops: int64 (n_x,); y_order, y_stops: int64
    # (n,) and (n_y,); scores: float64 (B,)
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
