"""What both forms of analogies share: which words can be asked, shares of right answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement


@dataclass(frozen=True)
class Answered:
    """Questions of one set that were asked, and how that went."""

    dataset: str  # name of the set
    items: np.ndarray  # int64 (n,): which items of the set were asked
    # mapping of str to bool (n,): by metric, whether each was answered rightly
    right: Mapping[str, np.ndarray]
    composed: np.ndarray  # bool (n,): whether each has a word whose vector is composed, or zero
    zero: np.ndarray  # bool (n,): whether each has a word whose vector is composed, or zero
    # int64 (n, 2) or None: the two pairs of words that each question is made of
    units: np.ndarray | None = None


def usable(places: np.ndarray, limit: int, n_words: int) -> np.ndarray:
    """Tell which words a question may hold."""
    # places: int64 (...); returns bool (...)
    return ((places >= 0) & (places < limit)) | (places >= n_words)


def why_unscored(restrict: int | None) -> str:
    """Say why no question was asked."""
    if restrict is None:
        return "no question has all its words in the vocabulary"
    return f"no question has all its words among the {restrict:,} most frequent"


def accuracies(
    answered: Answered,
    names: Sequence[str],
    reason: str,
    *,
    first: int = 0,
    sections: bool = False,
) -> list[Measurement]:
    """Measure shares of right answers, over the whole set and its sections."""
    parts = [(None, np.ones(len(names), dtype=bool)), *(_sections(names) if sections else ())]
    return [
        _measured(answered, metric, section, part, first, reason)
        for section, part in parts
        for metric in answered.right
    ]


def _sections(names: Sequence[str]) -> Iterator[tuple[str | None, np.ndarray]]:
    """Name and items of each section, in the order of the set."""
    every = np.array(names, dtype=object)
    for name in dict.fromkeys(names):
        yield name, every == name


def _measured(
    answered: Answered,
    metric: str,
    section: str | None,
    part: np.ndarray,
    first: int,
    reason: str,
) -> Measurement:
    """One metric over one part of the set."""
    chosen = part[answered.items - first]
    right = answered.right[metric][chosen]
    return Measurement(
        task="analogy",
        dataset=answered.dataset,
        metric=metric,
        section=section,
        items=answered.items[chosen],
        items_total=int(part.sum()),
        first=first,
        statistic=Means(right) if len(right) else None,
        reason=None if len(right) else reason,
        items_composed=int(answered.composed[chosen].sum()),
        items_zero=int(answered.zero[chosen].sum()),
        units=None if answered.units is None else answered.units[chosen],
    )
