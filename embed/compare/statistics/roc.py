"""How well values separate two classes, over all thresholds, as a function of item counts."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from firth.embed.compare.statistics.estimators import Counts, Statistic, in_blocks
from firth.embed.compare.statistics.roc_kernels import ranking_areas


@dataclass(frozen=True, eq=False)
class RocArea(Statistic):
    """The area under the ROC curve (Hanley & McNeil 1982), or its mean over several classes."""

    positive: np.ndarray  # bool (n,) or (n, k): items whose values should be high
    values: np.ndarray  # float, the same shape: finite
    by_precision: ClassVar[bool] = False

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return the areas; NaN if a replicate has only one class."""
        if self.positive.ndim > 1:
            classes = zip(self.positive.T, self.values.T, strict=True)
            areas = np.array([type(self)(*each).evaluate(counts) for each in classes])
            defined = ~np.isnan(areas)
            with np.errstate(invalid="ignore"):  # NaN if no class has an area
                return np.asarray(np.where(defined, areas, 0).sum(axis=0) / defined.sum(axis=0))
        return in_blocks(counts, self._areas)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """Item order by value, highest first, and the end of each run of equal values."""
        order = np.argsort(-self.values, kind="stable")
        ends = np.flatnonzero(np.diff(self.values[order])) + 1
        return order, np.append(ends, len(order))

    def _areas(self, rows: np.ndarray) -> np.ndarray:
        """Return the areas of some replicates."""
        scores = np.empty(len(rows))
        ranking_areas(rows, *self._order, self.positive, self.by_precision, scores)
        return scores


@dataclass(frozen=True, eq=False)
class AveragePrecision(RocArea):
    """The mean over positive items of the precision at their value, as in scikit-learn."""

    by_precision = True
