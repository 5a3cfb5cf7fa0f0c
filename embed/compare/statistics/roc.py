"""The area under the ROC curve as a function of item counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.embed.compare.statistics.estimators import Counts, Statistic, in_blocks


@dataclass(frozen=True, eq=False)
class RocArea(Statistic):
    """How well values separate two classes, over all thresholds (Hanley & McNeil 1982).

    Of several classes, each against the others, the mean.
    """

    positive: np.ndarray  # bool (n,) or (n, k): items whose values should be high
    values: np.ndarray  # float, the same shape: finite

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return the areas; NaN if a replicate has only one class."""
        if self.positive.ndim > 1:
            classes = zip(self.positive.T, self.values.T, strict=True)
            return np.nanmean([RocArea(*each).evaluate(counts) for each in classes], axis=0)
        return in_blocks(counts, self._areas)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """Item order by value, and the start of each run of equal values."""
        order = np.argsort(self.values, kind="stable")
        return order, np.unique(self.values[order], return_index=True)[1]

    def _areas(self, rows: np.ndarray) -> np.ndarray:
        """Return the areas of some replicates; sums of integer counts are exact."""
        order, starts = self._order
        ordered, high = rows[:, order], self.positive[order]
        ups, downs = (np.add.reduceat(ordered * chosen, starts, axis=1) for chosen in (high, ~high))
        below = np.cumsum(downs, axis=1) - downs / 2
        return np.asarray((ups * below).sum(axis=1) / (ups.sum(axis=1) * downs.sum(axis=1)))
