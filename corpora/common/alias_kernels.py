"""Inner loop of building an alias table."""

from typing import Any

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def fill_columns(masses: Any, capacities: Any, limits: Any, others: Any) -> None:
    """Fill the columns: each with its own word, and the rest with one other.

    Vose 1991: the rest of a column is filled by a word that overflows its own,
    until none overflows. Unlike there, columns may differ in capacity.
    """
    # masses: float64 (V,), overwritten; capacities: int64 (V,)
    # limits: uint32 (V,), others: int32 (V,): output
    n_words = masses.shape[0]
    whole, most = 4294967296.0, 4294967295.0
    # two stacks in one array: underfilled columns from the left, the others from the right
    waiting = np.empty(n_words, np.int32)
    n_short, n_ample = 0, 0
    for word in range(n_words - 1, -1, -1):
        if masses[word] < capacities[word]:
            waiting[n_short] = word
            n_short += 1
        else:
            n_ample += 1
            waiting[n_words - n_ample] = word
    # columns left on either stack at the end differ from full only by rounding
    while n_short and n_ample:
        n_short -= 1
        short = waiting[n_short]
        ample = waiting[n_words - n_ample]
        share = round(masses[short] / capacities[short] * whole)
        if share < most:  # else the column is full up to rounding
            limits[short] = np.uint32(share)
            others[short] = ample
        masses[ample] -= capacities[short] - masses[short]
        if masses[ample] < capacities[ample]:
            n_ample -= 1
            waiting[n_short] = ample
            n_short += 1
