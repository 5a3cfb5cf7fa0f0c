"""Entity spans of chunk tags, and span F1 as a function of item counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from firth.embed.compare.statistics.estimators import Counts, Statistic, UnitCounts, in_blocks

_CHUNK = re.compile(r"O|[BIES]-.+")


@dataclass(frozen=True, eq=False)
class Ratios(Statistic):
    """A ratio of sums over items, such as F1, or the mean of several such as macro F1."""

    numerators: np.ndarray  # int64 or float64 (n,) or (n, k): each item's part
    denominators: np.ndarray  # the same

    def evaluate(self, counts: Counts) -> np.ndarray:
        """Return ratios of weighted sums; NaN if the denominator is zero, not counted in a mean."""
        if isinstance(counts, UnitCounts) and self.numerators.ndim == 1:
            parts = (self.numerators, self.denominators)
            above, below = (counts.sums(part.astype(np.float64)) for part in parts)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(above / below)
        both = np.column_stack([self.numerators, self.denominators]).astype(np.float64)

        def ratios(rows: np.ndarray) -> np.ndarray:
            sums = rows @ both
            above, below = np.split(sums, 2, axis=1)
            found = above / below
            defined = ~np.isnan(found)
            return np.asarray(np.where(defined, found, 0).sum(axis=1) / defined.sum(axis=1))

        return in_blocks(counts, ratios)


def spans(tags: Sequence[str], offsets: np.ndarray) -> set[tuple[int, int, str]]:
    """Return the entity spans of chunk tags (IOB1, IOB2 or IOBES) as (start, stop, type).

    A span begins at ``B-``, ``S-`` and any new type, and ends before the next span, before ``O``,
    after ``E-`` and ``S-``, and with its sentence (Tjong Kim Sang and De Meulder 2003).
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
    """Return whether the tags are chunk tags that mark at least one entity."""
    kinds = set(tags)
    return all(_CHUNK.fullmatch(tag) for tag in kinds) and kinds != {"O"}


def span_f1(right: Sequence[str], answered: Sequence[str], offsets: np.ndarray) -> Ratios:
    """Return span F1: an entity counts only if its boundaries and type match exactly."""
    # offsets: int64 (n_sentences + 1,)
    gold, predicted = spans(right, offsets), spans(answered, offsets)
    found = _starts(gold & predicted, len(right))
    return Ratios(2 * found, _starts(gold, len(right)) + _starts(predicted, len(right)))


def _starts(entities: set[tuple[int, int, str]], n_words: int) -> np.ndarray:
    """Count the entities that begin at each word."""
    return np.bincount(np.array([first for first, _, _ in entities], np.int64), minlength=n_words)
