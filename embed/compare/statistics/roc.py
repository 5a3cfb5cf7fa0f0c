"""The area under the ROC curve as a function of how often each item counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embed.compare.statistics.estimators import Counts, Statistic, in_blocks


@dataclass(frozen=True, eq=False)
class RocArea(Statistic):
    """How well values tell two classes apart, whatever threshold one might choose.

    The chance that the value of an item of the one class, drawn at random, is above that of an item
    of the other; equal values count one half (Hanley & McNeil 1982, "The meaning and use of the
    area under a receiver operating characteristic (ROC) curve"; the statistic of Mann & Whitney
    1947 as a share).
    """

    positive: np.ndarray  # bool (n,): which items belong to the class whose values should be high
    values: np.ndarray  # float (n,): finite

    @property
    def n_items(self) -> int:
        """Number of values."""
        return len(self.values)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Compare every two items of different classes; NaN where there is one class."""
        return in_blocks(counts, self._of)

    def take(self, chosen: np.ndarray) -> "RocArea":
        """Give some of the items."""
        return RocArea(self.positive[chosen], self.values[chosen])

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """Items by ascending value, and where each distinct value begins."""
        order = np.argsort(self.values, kind="stable")
        return order, np.unique(self.values[order], return_index=True)[1]

    def _of(self, rows: np.ndarray) -> np.ndarray:
        """The areas of some replicates; counts are whole, so all sums are exact."""
        order, starts = self._order
        ordered, high = rows[:, order], self.positive[order]
        ups, downs = (np.add.reduceat(ordered * chosen, starts, axis=1) for chosen in (high, ~high))
        below = np.cumsum(downs, axis=1) - downs / 2
        return np.asarray((ups * below).sum(axis=1) / (ups.sum(axis=1) * downs.sum(axis=1)))
