"""What both forms of analogies share: which words can be asked, shares of right answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embed.compare.statistics.estimators import Means
from embed.compare.task import Measured


@dataclass(frozen=True)
class Answered:
    """Questions of one set that were asked, and how that went.

    Attributes
    ----------
    dataset : str
        Name of the set.
    items : int64 (n,)
        Which items of the set were asked.
    right : mapping of str to bool (n,)
        By metric, whether each was answered rightly.
    composed, zero : bool (n,)
        Whether each has a word whose vector is composed, or zero.
    units : int64 (n, 2) or None
        The two pairs of words that each question is made of.
    """

    dataset: str
    items: np.ndarray
    right: Mapping[str, np.ndarray]
    composed: np.ndarray
    zero: np.ndarray
    units: np.ndarray | None = None


def usable(places: np.ndarray, limit: int, n_words: int) -> np.ndarray:
    """Tell which words a question may hold.

    Parameters
    ----------
    places : int64 (...)
        Where words stand; -1 for unknown ones.
    limit : int
        Words of the vocabulary that count.
    n_words : int
        V; what stands behind has a vector, but no row.

    Returns
    -------
    bool (...)
        True for one of the first words and for one without a row.
    """
    return ((places >= 0) & (places < limit)) | (places >= n_words)


def nothing_asked(restrict: int | None) -> str:
    """Say why no question was asked.

    Parameters
    ----------
    restrict : int or None
        Words of the vocabulary that count; None for all.

    Returns
    -------
    str
        For :class:`~embed.compare.task.Measured`.
    """
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
) -> list[Measured]:
    """Measure shares of right answers, over the whole set and its sections.

    Parameters
    ----------
    answered : Answered
        What was asked.
    names : sequence of str
        The section of each item that these metrics are measured on.
    reason : str
        Why a share is undefined where nothing was asked.
    first : int
        The number of the first of these items in the set.
    sections : bool
        Whether each section is measured as well.

    Returns
    -------
    list of Measured
        The whole set in every metric, then section by section.
    """
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
) -> Measured:
    """One metric over one part of the set."""
    chosen = part[answered.items - first]
    right = answered.right[metric][chosen]
    return Measured(
        task="analogy",
        dataset=answered.dataset,
        metric=metric,
        section=section,
        items=answered.items[chosen],
        items_total=int(part.sum()),
        first=first,
        sample=Means(right) if len(right) else None,
        reason=None if len(right) else reason,
        items_composed=int(answered.composed[chosen].sum()),
        items_zero=int(answered.zero[chosen].sum()),
        units=None if answered.units is None else answered.units[chosen],
    )
