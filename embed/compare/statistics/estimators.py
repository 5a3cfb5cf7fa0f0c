"""Scores as functions of item counts, so that any of them can be bootstrapped.

The score of a set is its statistic with every count 1; a bootstrap replicate is the statistic with
the counts of one draw with replacement. Counts of many draws come at once, so a replicate costs a
few sums over arrays and no item is copied.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Literal, Self, TypeAlias

import numpy as np

from firth.embed.compare.statistics.spearman_kernels import rank_correlations

BLOCK = 1 << 16  # counts held as float64 at once
_SUMMED = 1 << 20  # counts of units held as float64 at once


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """Item counts as products of the counts of the units of each item, computed on indexing."""

    drawn: np.ndarray  # uint8 (B, U): how often each unit was drawn
    members: np.ndarray  # int64 (n_items, k): the units of each item

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of items in each draw, float64 (B,)."""
        return self.sums(np.ones(len(self.members)))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the items' values in each draw, by sums over units."""
        # values: float64 (n_items,); returns float64 (B,)
        n_units, k = self.drawn.shape[1], self.members.shape[1]
        if k > 2:
            return in_blocks(self, lambda rows: rows @ values)
        if k == 1:
            by_unit = np.bincount(self.members[:, 0], values, n_units)
            return in_blocks(self.drawn, lambda rows: rows @ by_unit)
        import scipy.sparse

        some = values != 0
        entries = values[some], tuple(self.members[some].T)
        matrix = scipy.sparse.csr_matrix(entries, shape=(n_units, n_units))

        def products(rows: np.ndarray) -> np.ndarray:
            drawn = np.ascontiguousarray(rows.T)
            return np.asarray(np.einsum("ub,ub->b", matrix @ drawn, drawn))

        return in_blocks(self.drawn, products, block=_SUMMED)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of draws and number of items."""
        return len(self.drawn), len(self.members)

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return item counts of some draws, uint16 (rows, n_items)."""
        drawn = self.drawn[rows]
        first, *others = self.members.T
        counts = np.take(drawn, first, axis=1).astype(np.uint16)
        for units in others:
            counts *= np.take(drawn, units, axis=1)
        return counts


# item counts of each replicate, int (B, n_items)
Counts: TypeAlias = np.ndarray | UnitCounts


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """The score of one run on one set, as a function of item counts."""

    @property
    def n_items(self) -> int:
        """Number of items, at least one."""
        return int(getattr(self, fields(self)[0].name).shape[0])

    @abstractmethod
    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return one score per replicate, with each item weighted by its count."""
        # counts: int (B, n_items); returns float64 (B,)

    def take(self, chosen: np.ndarray) -> Self:
        """Return the statistic restricted to the chosen items."""
        # chosen: bool (n_items,)
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays = {name: value for name, value in given.items() if hasattr(value, "shape")}
        return replace(self, **{name: value[chosen] for name, value in arrays.items()})


@dataclass(frozen=True, eq=False)
class Means(Statistic):
    """The mean of one value per item; accuracy if values are 1 (right) and 0 (wrong)."""

    values: np.ndarray  # float or bool (n,)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return weighted means."""
        values = self.values.astype(np.float64)
        if isinstance(counts, UnitCounts):
            with np.errstate(divide="ignore", invalid="ignore"):
                return counts.sums(values) / counts.sizes
        return in_blocks(counts, lambda rows: (rows @ values) / rows.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Correlation(Statistic):
    """Pearson's correlation of two series, or Spearman's, ranked anew in every replicate."""

    x: np.ndarray  # float (n,), finite
    y: np.ndarray  # float (n,), finite
    ranked: bool  # Spearman's rather than Pearson's

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return correlations; NaN if either series is constant."""
        return in_blocks(counts, self._of_ranks if self.ranked else self._of_values)

    @cached_property
    def _moments(self) -> np.ndarray:
        """Both centered series, their squares and their product, (n, 5)."""
        x, y = (np.asarray(s, dtype=np.float64) - np.mean(s) for s in (self.x, self.y))
        return np.column_stack([x, y, x * x, y * y, x * y])

    def _of_values(self, rows: np.ndarray) -> np.ndarray:
        """Return Pearson's correlation from weighted sums."""
        size = rows.sum(axis=1)
        x, y, xx, yy, xy = (rows @ self._moments).T
        # the variance of a constant series is rounding error of its sums
        least = self.n_items * np.finfo(np.float64).eps
        spreads = [
            np.where(squares - s * s / size > least * squares, squares - s * s / size, 0.0)
            for s, squares in ((x, xx), (y, yy))
        ]
        defined = (spreads[0] > 0) & (spreads[1] > 0)
        return np.where(defined, (xy - x * y / size) / np.sqrt(spreads[0] * spreads[1]), np.nan)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Item order by x and the end of each run of equal x, then the same for y."""
        x, y = _Groups.of(self.x), _Groups.of(self.y)
        return x.order, x.stops, y.order, y.stops

    def _of_ranks(self, rows: np.ndarray) -> np.ndarray:
        """Return Spearman's correlation from cumulative counts."""
        scores = np.empty(len(rows))
        rank_correlations(rows, *self._order, scores)
        return scores


@dataclass(frozen=True, eq=False)
class Contingency(Statistic):
    """How well clusters agree with classes; the mean over several clusterings.

    ``purity`` is the share of items in the most frequent class of their cluster; ``nmi`` mutual
    information over the arithmetic mean of both entropies (Strehl & Ghosh 2002), 1 for one class
    and one cluster; ``ari`` the adjusted Rand index (Hubert & Arabie 1985, eq. 5). All as in
    scikit-learn.
    """

    classes: np.ndarray  # int or str (n,): labels, compared for equality only
    # int or str (n,), or (S, n) of S clusterings: labels, compared for equality only
    clusters: np.ndarray
    measure: Literal["purity", "nmi", "ari"]

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return the agreement of clusters with classes."""
        return np.mean(self._scores(counts), axis=0)

    def once(self) -> np.ndarray:
        """Return the score of each clustering with every item counted once, float64 (S,)."""
        return np.concatenate(self._scores(np.ones((1, self.n_items), np.uint8)))

    def take(self, chosen: np.ndarray) -> Self:
        """Return the statistic of the chosen items; clusters are not recomputed."""
        return replace(self, classes=self.classes[chosen], clusters=self.clusters[..., chosen])

    def _scores(self, counts: Counts) -> list[np.ndarray]:
        """Return the agreement of each clustering with the classes."""
        measures = {"purity": _purity, "nmi": _mutual_information, "ari": _adjusted_rand}
        measure = measures[self.measure]

        def agreement(
            items: _Groups, by_class: _Groups, by_cluster: _Groups, rows: np.ndarray
        ) -> np.ndarray:
            return measure(items.totals(np.ascontiguousarray(rows.T)), by_class, by_cluster)

        return [in_blocks(counts, partial(agreement, *tables)) for tables in self._tables]

    @cached_property
    def _tables(self) -> list[tuple["_Groups", "_Groups", "_Groups"]]:
        """Items by nonempty cell, and cells by class and by cluster, of each clustering."""
        classes, tables = _Groups.of(self.classes).labels, []
        for clusters in np.atleast_2d(self.clusters):
            labels = _Groups.of(clusters).labels
            places = classes * (labels.max() + 1) + labels
            first = np.unique(places, return_index=True)[1]
            margins = _Groups.of(classes[first]), _Groups.of(labels[first])
            tables.append((_Groups.of(places), *margins))
        return tables


@dataclass(frozen=True, eq=False)
class SeedMean(Statistic):
    """The mean of several statistics of the same items, one per seed."""

    statistics: tuple[Statistic, ...]  # at least one

    @property
    def n_items(self) -> int:
        """Number of items, the same for every seed."""
        return self.statistics[0].n_items

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return scores averaged over seeds."""
        return np.mean([statistic.evaluate(counts) for statistic in self.statistics], axis=0)

    def take(self, chosen: np.ndarray) -> Self:
        """Return the statistic restricted to the chosen items."""
        return replace(self, statistics=tuple(each.take(chosen) for each in self.statistics))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows sorted by label, so that groups are reduced without Python loops."""

    labels: np.ndarray  # int64 (n,): group of each row, numbered in ascending order of values
    order: np.ndarray  # int64 (n,): rows, group by group
    starts: np.ndarray  # int64 (n_groups,): first position of each group in ``order``
    stops: np.ndarray  # int64 (n_groups,): end position of each group in ``order``

    @classmethod
    def of(cls, values: np.ndarray) -> "_Groups":
        """Group rows with equal values."""
        _, labels, sizes = np.unique(values, return_inverse=True, return_counts=True)
        stops = np.cumsum(sizes)
        return cls(labels, np.argsort(labels, kind="stable"), stops - sizes, stops)

    def totals(self, columns: np.ndarray) -> np.ndarray:
        """Sum the rows of each group: (n, B) to (n_groups, B)."""
        return np.add.reduceat(columns[self.order], self.starts, axis=0)

    def largest(self, columns: np.ndarray) -> np.ndarray:
        """Take the maximum over each group: (n, B) to (n_groups, B)."""
        return np.maximum.reduceat(columns[self.order], self.starts, axis=0)


def in_blocks(
    counts: Counts, score: Callable[[np.ndarray], np.ndarray], *, block: int = BLOCK
) -> np.ndarray:
    """Score replicates in blocks of about ``block`` counts, to bound memory."""
    # counts: int (B, n_items); returns float64 (B,)
    scores = np.empty(len(counts))
    step = max(1, block // counts.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(counts), step):
            part = slice(start, start + step)
            scores[part] = score(counts[part].astype(np.float64))
    return scores


def _purity(cells: np.ndarray, _by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Return the share of items in their cluster's most frequent class."""
    return by_cluster.largest(cells).sum(axis=0) / cells.sum(axis=0)


def _mutual_information(cells: np.ndarray, by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Return mutual information over mean entropy; both are scaled by the number of items."""
    size = cells.sum(axis=0)
    whole = size * np.log(size)
    a, b, both = (
        whole - (sums * np.log(np.maximum(sums, 1))).sum(axis=0)
        for sums in (by_class.totals(cells), by_cluster.totals(cells), cells)
    )
    return np.where(a + b > 0, np.maximum(2 * (a + b - both) / (a + b), 0), size / size)


def _adjusted_rand(cells: np.ndarray, by_class: _Groups, by_cluster: _Groups) -> np.ndarray:
    """Return the adjusted Rand index; both terms are scaled by the number of item pairs."""
    sizes = cells.sum(axis=0)[None], by_class.totals(cells), by_cluster.totals(cells), cells
    pairs, a, b, both = ((sums * (sums - 1) / 2).sum(axis=0) for sums in sizes)
    most = pairs * (a + b) / 2 - a * b
    return np.where(most == 0, 1.0, (pairs * both - a * b) / most)
