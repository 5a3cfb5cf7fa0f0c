"""The inner loop of building an alias table."""

from typing import Any

import numpy as np

from corpora.common.jit import compiled


@compiled
def fill_columns(masses: Any, capacities: Any, limits: Any, others: Any) -> None:
    """Fill the columns: each with its own word, what room is left with one other.

    Vose 1991: a word that leaves room in its column takes it from one that
    overflows its own, until none overflows. Here the columns need not be of one
    size.
    """
    # masses: float64 (V,); capacities: int64 (V,); limits, others: uint32 (V,), int32 (V,)
    n_words = masses.shape[0]
    whole, most = 4294967296.0, 4294967295.0
    # two stacks in one array: words that leave room from the left, the others from the right
    waiting = np.empty(n_words, np.int32)
    n_short, n_ample = 0, 0
    for word in range(n_words - 1, -1, -1):
        if masses[word] < capacities[word]:
            waiting[n_short] = word
            n_short += 1
        else:
            n_ample += 1
            waiting[n_words - n_ample] = word
    # what either stack has left at the end differs from full by rounding only
    while n_short and n_ample:
        n_short -= 1
        short = waiting[n_short]
        ample = waiting[n_words - n_ample]
        share = round(masses[short] / capacities[short] * whole)
        if share < most:  # else the column is full, but for the rounding of what filled it
            limits[short] = np.uint32(share)
            others[short] = ample
        masses[ample] -= capacities[short] - masses[short]
        if masses[ample] < capacities[ample]:
            n_ample -= 1
            waiting[n_short] = ample
            n_short += 1
