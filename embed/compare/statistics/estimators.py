"""Scores as functions of how often each item counts, so that any of them can be resampled.

The score of a set is what its statistic gives when every item counts once; a bootstrap replicate is
the same with the items of one draw with replacement. Draws come as counts, many at a time, so
that a replicate costs a few sums over arrays, and no item is ever copied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from embed.compare.statistics.spearman_kernels import rank_correlations


class Counts(Protocol):
    """How often each item counts in each replicate: an array (B, n_items), or what acts as one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """B and n_items."""

    def __len__(self) -> int:
        """B."""

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        """Counts of some replicates, int (rows, n_items)."""


class Statistic(Protocol):
    """Scored items of one set, for one run."""

    @property
    def n_items(self) -> int:
        """How many items there are, at least one."""

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Score the items, each taken as often as it counts."""
        # counts: int (B, n_items); returns float64 (B,)

    def take(self, chosen: np.ndarray) -> "Statistic":
        """Give some of the items."""
        # chosen: bool (n_items,)


@dataclass(frozen=True, eq=False)
class Means(Statistic):
    """The mean of a value per item: accuracy, where a right answer is 1 and a wrong one 0."""

    values: np.ndarray  # float or bool (n,): one value an item

    @property
    def n_items(self) -> int:
        """Number of values."""
        return len(self.values)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Average the values, weighted."""
        values = self.values.astype(np.float64)
        return in_blocks(counts, lambda rows: (rows @ values) / rows.sum(axis=1))

    def take(self, chosen: np.ndarray) -> "Means":
        """Give some of the items."""
        return Means(self.values[chosen])


@dataclass(frozen=True, eq=False)
class Correlation(Statistic):
    """The correlation of two series: Pearson's, or Spearman's of ranks.

    Spearman 1904, "The proof and measurement of association between two things": Pearson's
    correlation of ranks, equal values sharing their mean rank. Every replicate has ranks of its
    own, in which copies of one item are equal values.
    """

    x: np.ndarray  # float (n,): judgements and cosines, finite
    y: np.ndarray  # float (n,): judgements and cosines, finite
    ranked: bool  # whether ranks are correlated rather than values

    @property
    def n_items(self) -> int:
        """Number of pairs of values."""
        return len(self.x)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Correlate; NaN where either series is constant."""
        return in_blocks(counts, self._of_ranks if self.ranked else self._of_values)

    def take(self, chosen: np.ndarray) -> "Correlation":
        """Give some of the items."""
        return Correlation(self.x[chosen], self.y[chosen], self.ranked)

    @cached_property
    def _moments(self) -> np.ndarray:
        """Both series about their means, their squares and their product (n, 5)."""
        x, y = (np.asarray(s, dtype=np.float64) - np.mean(s) for s in (self.x, self.y))
        return np.column_stack([x, y, x * x, y * y, x * y])

    def _of_values(self, rows: np.ndarray) -> np.ndarray:
        """Pearson's correlation from weighted sums."""
        size = rows.sum(axis=1)
        x, y, xx, yy, xy = (rows @ self._moments).T
        # A constant series leaves no more than the rounding of its sums.
        least = self.n_items * np.finfo(np.float64).eps
        spreads = [
            np.where(squares - s * s / size > least * squares, squares - s * s / size, 0.0)
            for s, squares in ((x, xx), (y, yy))
        ]
        defined = (spreads[0] > 0) & (spreads[1] > 0)
        return np.where(defined, (xy - x * y / size) / np.sqrt(spreads[0] * spreads[1]), np.nan)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Items by ascending x and where each distinct value ends, then the same of y."""
        x, y = _Groups.of(self.x), _Groups.of(self.y)
        return x.order, x.stops, y.order, y.stops

    def _of_ranks(self, rows: np.ndarray) -> np.ndarray:
        """Spearman's correlation from cumulative counts."""
        scores = np.empty(len(rows))
        rank_correlations(rows, *self._order, scores)
        return scores


@dataclass(frozen=True, eq=False)
class Contingency(Statistic):
    """How well clusters agree with classes.

    With n items, of which a table counts how many of each class lie in each cluster:

    - ``purity``: the share of items whose class is the most frequent one of their cluster.
    - ``nmi``: mutual information over the mean of both entropies (Strehl & Ghosh 2002,
      "Cluster ensembles", with the arithmetic mean as scikit-learn has it).
    - ``ari``: the share of pairs of items on which both agree, adjusted for chance
      (Hubert & Arabie 1985, "Comparing partitions", eq. 5).

    As in scikit-learn, ``nmi`` is 1 where there is one class and one cluster, and ``ari`` where
    both put all items together or all apart.
    """

    classes: np.ndarray  # int or str (n,): of each item; the labels' own values do not matter
    clusters: np.ndarray  # int or str (n,): of each item; the labels' own values do not matter
    measure: Literal["purity", "nmi", "ari"]  # ``purity``, ``nmi`` or ``ari``

    @property
    def n_items(self) -> int:
        """Number of items in clusters."""
        return len(self.classes)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Compare clusters with classes."""
        measures = {"purity": _purity, "nmi": _mutual_information, "ari": _adjusted_rand}
        measure, (cells, by_class, by_cluster) = measures[self.measure], self._table

        def score(rows: np.ndarray) -> np.ndarray:
            return measure(cells.totals(np.ascontiguousarray(rows.T)), by_class, by_cluster)

        return in_blocks(counts, score)

    def take(self, chosen: np.ndarray) -> "Contingency":
        """Give some of the items, in the clusters that all of them were in."""
        return Contingency(self.classes[chosen], self.clusters[chosen], self.measure)

    @cached_property
    def _table(self) -> tuple["_Groups", "_Groups", "_Groups"]:
        """Items by cells of the table that are not empty; these by class and by cluster."""
        classes, clusters = _Groups.of(self.classes), _Groups.of(self.clusters)
        places = classes.labels * (clusters.labels.max() + 1) + clusters.labels
        cells, first = _Groups.of(places), np.unique(places, return_index=True)[1]
        return cells, _Groups.of(classes.labels[first]), _Groups.of(clusters.labels[first])


@dataclass(frozen=True, eq=False)
class SeedMean(Statistic):
    """The mean score of several statistics of the same items: of runs that differ in the seed."""

    statistics: tuple[Statistic, ...]  # at least one

    @property
    def n_items(self) -> int:
        """Number of items of each."""
        return self.statistics[0].n_items

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Average the scores of all statistics."""
        return np.mean([statistic.evaluate(counts) for statistic in self.statistics], axis=0)

    def take(self, chosen: np.ndarray) -> "SeedMean":
        """Give some of the items."""
        return SeedMean(tuple(statistic.take(chosen) for statistic in self.statistics))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows of one label side by side, so that groups are summed without loops."""

    # int64 (n,): group of each row; groups are numbered in ascending order of their labels
    labels: np.ndarray
    order: np.ndarray  # int64 (n,): rows, group by group
    starts: np.ndarray  # int64 (n_groups,): where in ``order`` each group begins and ends
    stops: np.ndarray  # int64 (n_groups,): where in ``order`` each group begins and ends

    @classmethod
    def of(cls, values: np.ndarray) -> "_Groups":
        """Group equal values."""
        _, labels, sizes = np.unique(values, return_inverse=True, return_counts=True)
        stops = np.cumsum(sizes)
        return cls(labels, np.argsort(labels, kind="stable"), stops - sizes, stops)

    def totals(self, columns: np.ndarray) -> np.ndarray:
        """Sum the rows of each group: (n, B) to (n_groups, B)."""
        return np.add.reduceat(columns[self.order], self.starts, axis=0)

    def largest(self, columns: np.ndarray) -> np.ndarray:
        """The largest row of each group: (n, B) to (n_groups, B)."""
        return np.maximum.reduceat(columns[self.order], self.starts, axis=0)


def in_blocks(
    counts: Counts, score: Callable[[np.ndarray], np.ndarray], *, block: int = 1 << 16
) -> np.ndarray:
    """Score replicates some at a time."""
    # counts: int (B, n_items); returns float64 (B,)
    scores = np.empty(len(counts))
    step = max(1, block // counts.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(counts), step):
            part = slice(start, start + step)
            scores[part] = score(counts[part].astype(np.float64))
    return scores


def _purity(cells: np.ndarray, _by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Share of items in their cluster's most frequent class."""
    return by_cluster.largest(cells).sum(axis=0) / cells.sum(axis=0)


def _mutual_information(cells: np.ndarray, by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Mutual information over mean entropy, each times the number of items."""
    size = cells.sum(axis=0)
    whole = size * np.log(size)
    a, b, both = (
        whole - (sums * np.log(np.maximum(sums, 1))).sum(axis=0)
        for sums in (by_class.totals(cells), by_cluster.totals(cells), cells)
    )
    return np.where(a + b > 0, np.maximum(2 * (a + b - both) / (a + b), 0), size / size)


def _adjusted_rand(cells: np.ndarray, by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Adjusted Rand index, numerator and denominator times the number of pairs of items."""
    pairs, a, b, both = (
        (sums * (sums - 1) / 2).sum(axis=0)
        for sums in (
            cells.sum(axis=0)[None],
            by_class.totals(cells),
            by_cluster.totals(cells),
            cells,
        )
    )
    most = pairs * (a + b) / 2 - a * b
    return np.where(most == 0, 1.0, (pairs * both - a * b) / most)
