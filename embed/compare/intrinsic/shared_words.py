"""The words shared by all runs, and each run's vectors of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.intrinsic.geometry import neighborhoods
from firth.embed.protocols import StaticVectors

_NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class SharedVectors:
    """One run's vectors of the shared words."""

    # float64 (n, D), unit length; scipy.sparse CSR only if :attr:`wide`
    units: Any
    lengths: np.ndarray  # float64 (n,): lengths before scaling
    frequencies: np.ndarray  # int64 (n,): word counts; if unknown, negated row numbers

    @classmethod
    def of(cls, vectors: StaticVectors, words: Sequence[str]) -> "SharedVectors":
        """Read the vectors of words; raise ArtifactError for NaN or infinity."""
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
        """Whether there are at least as many dimensions as words."""
        return bool(self.units.shape[1] >= self.units.shape[0])

    @cached_property
    def near(self) -> np.ndarray | None:
        """Which words are the nearest ones of each, bool (n, n); None if all cosines are equal."""
        return neighborhoods(self.units, _NEIGHBORS)


def shared_words(runs: Sequence[StaticVectors], n_words: int) -> list[str]:
    """Return up to ``n_words`` words that all runs have rows for, by their worst rank."""
    limit, longest = n_words, max((len(run.vocabulary) for run in runs), default=0)
    while True:
        # a word beyond the limit in some run ranks after all words within it in every run
        worst: dict[str, int] = {}
        for index, run in enumerate(runs):
            # backward, so that a repeated word has its first rank
            ranked = reversed(list(enumerate(islice(run.vocabulary, limit))))
            ranks = {word: rank for rank, word in ranked}
            shared = ranks if index == 0 else worst.keys() & ranks.keys()
            worst = {word: max(worst.get(word, 0), ranks[word]) for word in shared}
        if len(worst) >= n_words or limit >= longest:
            return sorted(worst, key=lambda word: (worst[word], word))[:n_words]
        limit *= 4
