"""The words that all runs have, and each run's vectors of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from embed.compare.inputs.lookup import finite_units
from embed.protocols import StaticVectors


@dataclass(frozen=True, eq=False)
class Cloud:
    """One run's vectors of some words."""

    # float64 (n, D) or scipy.sparse CSR (n, D): their directions, of unit length; sparse only
    # where they are :attr:`wide`
    units: Any
    lengths: np.ndarray  # float64 (n,): their lengths
    # int64 (n,): what is larger for more frequent words: counts where they are known, else the row
    # less than 0
    frequencies: np.ndarray

    @classmethod
    def of(cls, vectors: StaticVectors, words: Sequence[str]) -> "Cloud":
        """Read the rows of words."""
        rows = np.array([vectors.row(word) for word in words], dtype=np.int64)
        units = finite_units(vectors, rows)
        if not isinstance(units, np.ndarray) and units.shape[1] < len(words):
            units = units.toarray()
        taken = vectors.matrix[rows].astype(np.float64)
        squares = taken * taken if isinstance(taken, np.ndarray) else taken.multiply(taken)
        counts = getattr(vectors, "counts", None)
        return cls(
            units,
            np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()),
            -rows if counts is None else np.asarray(counts)[rows],
        )

    @property
    def wide(self) -> bool:
        """Whether there are as many dimensions as words, so that each could have its own."""
        return bool(self.units.shape[1] >= self.units.shape[0])


def shared_words(runs: Sequence[StaticVectors], n_words: int) -> list[str]:
    """Choose words that all runs have rows for, frequent ones first."""
    limit, longest = n_words, max((len(run.vocabulary) for run in runs), default=0)
    while True:
        # a word beyond the limit in any run comes after all that are within it in every run
        last: dict[str, int] = {}
        for index, run in enumerate(runs):
            ranks = _first_ranks(run, limit)
            shared = ranks if index == 0 else last.keys() & ranks.keys()
            last = {word: max(last.get(word, 0), ranks[word]) for word in shared}
        if len(last) >= n_words or limit >= longest:
            return sorted(last, key=lambda word: (last[word], word))[:n_words]
        limit *= 4


def _first_ranks(run: StaticVectors, limit: int) -> dict[str, int]:
    """The lowest rank of each of a run's first words."""
    ranks: dict[str, int] = {}
    for rank, word in enumerate(islice(run.vocabulary, limit)):
        ranks.setdefault(word, rank)
    return ranks
