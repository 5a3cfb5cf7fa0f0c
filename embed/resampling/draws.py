"""Texts that are drawn from a text, and the vectors of words in them."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np

from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.resampling.drawn_rows import DrawnRows
from firth.embed.resampling.jackknife import groups_of_units
from firth.embed.resampling.prepared import Prepared
from firth.embed.vectors.search import unit_matrix

_FEWEST_GROUPS = 5  # that a value must vary over
_TOKENS = 1 << 15  # of words that a thread counts between two reports of progress
# Holding the contexts fixed leaves something out: docs/intervals.md has how much.
WIDENED = 1.25


def errors_of(fewest: int, away: np.ndarray) -> np.ndarray:
    """Return the standard deviation of values, from their deviations; NaN if few draws decide it.

    Draws count by how evenly the squares are divided among them; ``fewest`` are enough.
    """
    # away: (..., J); returns float64 (...)
    squares = away.astype(np.float64) ** 2
    total = squares.sum(axis=-1)
    few = total**2 < fewest * (squares**2).sum(axis=-1)
    return np.where(few, np.nan, np.sqrt(total))


class CountDraws:
    """The text of a count-based run without each group of units in turn."""

    def __init__(self, prepared: Prepared, matrix: Any, resamples: int, seed: int) -> None:
        n_units = prepared.text.n_units
        self.n_draws = min(resamples, n_units)
        groups = groups_of_units(n_units, self.n_draws, seed)[prepared.text.units]
        self._text = replace(prepared.text, units=groups, n_units=self.n_draws)
        self._matrix, self._threads = matrix, thread_count(None)
        self._rows = DrawnRows(self._text, prepared.space, prepared.config, self._threads)
        self._copies = 1 - np.eye(self.n_draws, dtype=self._rows.kind)
        self.unit, self.spread, self.fewest = prepared.unit, prepared.spread, _FEWEST_GROUPS

    def tokens(self, *rows: int) -> int:
        """Return the tokens of the rarest of some words."""
        return int(self._text.counts[list(rows)].min())

    def vectors(self, row: int) -> np.ndarray:
        """Return the vectors of a word without each group at unit length, float32 (G, D)."""
        return unit_matrix(self._rows.vectors(row, self._copies))

    def deviations(self, values: np.ndarray) -> np.ndarray:
        """Return how far values in the draws are from their mean, scaled to chance.

        The root of the sum of their squares is the standard deviation over other texts.
        """
        # values: (..., G); returns the same shape
        scale = WIDENED * np.sqrt((self.n_draws - 1) / self.n_draws)
        return np.asarray(scale * (values - values.mean(axis=-1, keepdims=True)))

    def cosines(self, pairs: np.ndarray) -> np.ndarray:
        """Return the cosine of each pair of words without each group, float32 (n, G).

        One word changes at a time, and the changes of both are added up. So a word is counted once.
        """
        from threadpoolctl import threadpool_limits

        rows, places = np.unique(pairs, return_inverse=True)
        places = places.reshape(pairs.shape)
        units = unit_matrix(self._matrix, rows)
        order = np.argsort(places.T, axis=None, kind="stable")  # the pairs of each word
        starts = np.searchsorted(places.T.ravel()[order], np.arange(len(rows) + 1))
        found, lock = np.zeros((len(pairs), self.n_draws), np.float32), threading.Lock()

        def add(span: tuple[int, int]) -> int:
            for place in range(*span):
                sides, chosen = np.divmod(order[starts[place] : starts[place + 1]], len(pairs))
                others = units[places[chosen, 1 - sides]]
                part = others @ self.vectors(int(rows[place])).T
                part -= (sides * (others @ units[place]))[:, None]
                with lock:
                    found[chosen] += part
            return span[1]

        work = self._text.counts[rows] + 50
        done = np.cumsum(work)
        with threadpool_limits(1, user_api="blas"), progress("resampling", "tokens") as show:
            show(0, done[-1])
            for stop in map_in_order(add, even_ranges(work, _TOKENS), self._threads):
                show(done[stop - 1], done[-1])
        found[pairs[:, 0] == pairs[:, 1]] = 1
        return found
