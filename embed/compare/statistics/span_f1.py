"""Entities that labels mark, and F1 of those found as a function of how often each item counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embed.compare.statistics.estimators import Counts, Statistic, in_blocks

_CHUNK = re.compile(r"O|[BIES]-.+")


@dataclass(frozen=True, eq=False)
class Ratios(Statistic):
    """A sum over a sum: F1, of whose numerator and denominator each item has a part."""

    numerators: np.ndarray  # int64 (n,): of each item
    denominators: np.ndarray  # int64 (n,): of each item

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.numerators)

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Divide the weighted sums; NaN where the denominator is zero."""
        both = np.column_stack([self.numerators, self.denominators]).astype(np.float64)

        def divided(rows: np.ndarray) -> np.ndarray:
            sums = rows @ both
            return np.asarray(sums[:, 0] / sums[:, 1])

        return in_blocks(counts, divided)

    def take(self, chosen: np.ndarray) -> "Ratios":
        """Give some of the items."""
        return Ratios(self.numerators[chosen], self.denominators[chosen])


def spans(tags: Sequence[str], offsets: np.ndarray) -> set[tuple[int, int, str]]:
    """Find the entities that labels mark.

    A span begins at ``B-`` or ``S-``, and at any label of another kind than the one before it
    in its sentence, so that both older forms (IOB1, where ``B-`` stands only between entities
    that touch) and newer ones are read rightly. It ends before the next one, before ``O``,
    after ``E-`` and ``S-``, and with its sentence (Tjong Kim Sang and De Meulder 2003, section
    2; Ramshaw and Marcus 1995).
    """
    # offsets: int64 (n_sentences + 1,)
    found: set[tuple[int, int, str]] = set()
    for start, stop in pairwise(offsets.tolist()):
        first, kind = start, ""
        for place, tag in enumerate([*tags[start:stop], "O"], start):
            mark, _, new = tag.partition("-")
            if kind and (new != kind or mark in ("B", "S")):
                found.add((first, place, kind))
                kind = ""
            if new and not kind:
                first, kind = place, new
            if kind and mark in ("E", "S"):
                found.add((first, place + 1, kind))
                kind = ""
    return found


def are_entities(tags: Sequence[str]) -> bool:
    """Tell whether labels mark entities."""
    kinds = set(tags)
    return all(_CHUNK.fullmatch(tag) for tag in kinds) and kinds != {"O"}


def span_f1(right: Sequence[str], answered: Sequence[str], offsets: np.ndarray) -> Ratios:
    """Score the entities that were found, exactly or not at all."""
    # offsets: int64 (n_sentences + 1,)
    marked, given = spans(right, offsets), spans(answered, offsets)
    found = _starts(marked & given, len(right))
    return Ratios(2 * found, _starts(marked, len(right)) + _starts(given, len(right)))


def _starts(some: set[tuple[int, int, str]], n_words: int) -> np.ndarray:
    """How many entities begin at each word."""
    return np.bincount(np.array([first for first, _, _ in some], np.int64), minlength=n_words)
