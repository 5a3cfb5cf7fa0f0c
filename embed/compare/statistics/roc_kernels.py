"""Areas under curves over all thresholds, of many bootstrap draws of the same items."""

from typing import Any

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def ranking_areas(
    rows: Any, order: Any, stops: Any, positive: Any, by_precision: bool, scores: Any
) -> None:
    """Write each draw's area under the ROC curve, or its average precision; NaN if undefined."""
    # rows: float64 (B, n), item counts; scores: float64 (B,), output; positive: bool (n,)
    # order: int64 (n,), items in descending order; stops: int64 (g,), ends of runs of equal values
    for b in range(rows.shape[0]):
        start, ups, downs, area = 0, 0.0, 0.0, 0.0
        for stop in stops:
            up, down = 0.0, 0.0
            for i in range(start, stop):
                if positive[order[i]]:
                    up += rows[b, order[i]]
                else:
                    down += rows[b, order[i]]
            start, ups, downs = stop, ups + up, downs + down
            if not by_precision:
                area += down * (ups - up / 2)
            elif up > 0:
                area += up * ups / (ups + downs)
        most = ups if by_precision else ups * downs
        scores[b] = area / most if most > 0 else np.nan
