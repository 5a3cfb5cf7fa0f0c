"""Shared by both forms of analogies: usable words, and accuracies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from firth.embed.compare.datasets.fields import TEXT_FILES
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.questions import looks_like_analogies
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement, Task


class AnalogySet(Task):
    """What both forms of analogies declare."""

    restrict: int | None  # number of candidates, most frequent first; None for all
    key = "analogy"
    skill = "analogies"
    metrics: ClassVar = {
        "accuracy": "share of questions answered right by the word nearest to b - a + c (3CosAdd)",
        "accuracy_3cosmul": "the same by a product of similarities instead of a sum",
        "accuracy_pairdirection": "the same by the direction of the difference alone",
        "accuracy_lrcos": "the same with a classifier of the answers' class",
    }
    bounded = True
    inner_files = TEXT_FILES

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize lines of four words, or of a word and its answers."""
        if head.names:
            return cls.recognize(head.of_inner(head.names[0]))
        return Match.LIKELY if looks_like_analogies(head) else Match.NO

    def _limit(self, n_words: int) -> int:
        """Return the number of candidates."""
        return n_words if self.restrict is None else min(self.restrict, n_words)


@dataclass(frozen=True)
class ScoredQuestions:
    """Questions of one set, and which of them were answered correctly."""

    dataset: str  # name of the set
    items: np.ndarray  # int64 (n,): item numbers
    correct: Mapping[str, np.ndarray]  # metric to bool (n,)
    composed: np.ndarray  # bool (n,): whether it has a word with a composed vector
    zero: np.ndarray  # bool (n,): whether it has a word with a zero vector
    units: np.ndarray | None = None  # int64 (n, 2): the two word pairs of each question


def usable(places: np.ndarray, limit: int, n_words: int) -> np.ndarray:
    """Return which words a question may use: frequent ones, and ones with a composed vector."""
    # places: int64 (...), -1 for unknown words, V and above for composed vectors
    return ((places >= 0) & (places < limit)) | (places >= n_words)


def why_unscored(restrict: int | None) -> str:
    """Return why no question could be scored."""
    if restrict is None:
        return "no question has all its words in the vocabulary"
    return f"no question has all its words among the {restrict:,} most frequent"


def accuracies(
    scored: ScoredQuestions,
    names: Sequence[str],
    reason: str,
    *,
    first: int = 0,
    sections: bool = False,
) -> list[Measurement]:
    """Return accuracies over the whole set and, if wanted, its sections, named by item."""
    parts = [(None, np.ones(len(names), dtype=bool)), *(_sections(names) if sections else ())]
    return [
        _measured(scored, metric, section, part, first, reason)
        for section, part in parts
        for metric in scored.correct
    ]


def _sections(names: Sequence[str]) -> Iterator[tuple[str | None, np.ndarray]]:
    """Yield name and items of each section, in file order."""
    every = np.array(names, dtype=object)
    for name in dict.fromkeys(names):
        yield name, every == name


def _measured(
    scored: ScoredQuestions,
    metric: str,
    section: str | None,
    part: np.ndarray,
    first: int,
    reason: str,
) -> Measurement:
    """Return one metric over one part of the set."""
    chosen = part[scored.items - first]
    correct = scored.correct[metric][chosen]
    return Measurement(
        task="analogy",
        dataset=scored.dataset,
        metric=metric,
        section=section,
        items=scored.items[chosen],
        items_total=int(part.sum()),
        first=first,
        statistic=Means(correct) if len(correct) else None,
        reason=None if len(correct) else reason,
        items_composed=int(scored.composed[chosen].sum()),
        items_zero=int(scored.zero[chosen].sum()),
        units=None if scored.units is None else scored.units[chosen],
    )
