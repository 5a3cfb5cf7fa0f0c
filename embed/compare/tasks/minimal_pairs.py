"""Minimal pairs: whether a language model prefers the grammatical sentence."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.joining import after_context
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.sentence_pairs import (
    EWOK_FIELDS,
    FIELDS,
    PAIR_FILES,
    MinimalPair,
    read_minimal_pairs,
    sample_pairs,
)
from firth.embed.compare.inputs.encoder_access import NEEDS_TREES, lacks_trees, scorer_of
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement, Task
from firth.embed.protocols import SentenceScorer, StaticVectors

# In nats. The batch changes a score by up to 2e-5 through float32 rounding, while a trained model's
# scores of the two sentences differ by so little in fewer than one pair in 10,000.
_TIE = 1e-4
_WORD = re.compile(r"\w(?:.*\w)?")  # without surrounding punctuation
_NO_SCORES = "has no sentence scores"


@dataclass(frozen=True)
class MinimalPairTask(Task):
    """Pairs of sentences, scored by how often the grammatical one is more likely.

    Warstadt et al. 2020, by pseudo-log-likelihood (Salazar et al. 2020). A tie counts one half.
    After a context (Ivanova et al. 2024) only the likelihood of the sentence counts.
    """

    dataset: str  # name of the set
    pairs: Sequence[MinimalPair]  # the set, or a sample of it
    # whether a piece is predicted with the later pieces of its word masked (Kauf and Ivanova 2023,
    # arXiv:2305.10588)
    left_to_right_in_words: bool = True
    sections: bool = False  # whether each paradigm is scored as well
    key = "minimal-pairs"
    skill = "grammatical sentences"
    metrics: ClassVar = {
        "accuracy": "share of pairs whose acceptable sentence is more likely; .5 by guessing"
    }
    inner_files = PAIR_FILES

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize JSON lines with an acceptable and another sentence, or with contexts."""
        first = head.rows[0].record() if head.rows else None
        return Match.CERTAIN if first and {*FIELDS, EWOK_FIELDS[0]} & first.keys() else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "MinimalPairTask":
        """Read a set of minimal pairs, and sample it if there is a limit."""
        pairs = sample_pairs(read_minimal_pairs(path), config.limit, config.seed)
        return cls(set_name(path), pairs, config.left_to_right_in_words, config.sections)

    def texts(self) -> Iterable[str]:
        """Return the words of all sentences, split at white space, without punctuation."""
        return list(dict.fromkeys(text for words in self._items for text in words))

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each pair, which only determine its frequency band."""
        return self._items

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Return all pairs, or None if the run cannot score sentences."""
        # returns bool (n_items,) or None
        return None if scorer_of(vectors) is None else np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Score both sentences of each pair; unknown words do not matter."""
        # items: bool (n_items,)
        scorer, chosen = scorer_of(vectors), np.flatnonzero(items)
        values, reason = None, "no pair is scored"
        if scorer is None:
            reason = NEEDS_TREES if lacks_trees(vectors) else _NO_SCORES
        elif len(chosen):
            values = self._preferences(scorer, getattr(vectors, "name", "vectors"), chosen)
        several = len(set(self._paradigm_numbers.tolist())) > 1  # then paradigms are drawn
        whole = self._measurement(
            "accuracy",
            chosen,
            None if values is None else Means(values),
            reason if values is None else None,
            units=_drawn(self._paradigm_numbers if several else self._context_numbers, chosen),
            chance=None if values is None else 0.5,
        )
        return [whole, *(self._paradigms(whole) if self.sections else ())]

    @cached_property
    def _items(self) -> list[list[str]]:
        """Words of each pair."""
        return [
            _words(" ".join([*pair.contexts, pair.good, pair.bad]).strip()) for pair in self.pairs
        ]

    @cached_property
    def _paradigm_numbers(self) -> np.ndarray:
        """Number of each pair's paradigm, in order of appearance, int64 (n_items,)."""
        return _numbers(pair.paradigm for pair in self.pairs)

    @cached_property
    def _context_numbers(self) -> np.ndarray | None:
        """Number of each pair's contexts, int64 (n_items,), or its own; None if none has any."""
        if not any(any(pair.contexts) for pair in self.pairs):
            return None
        return _numbers(
            frozenset(pair.contexts) if any(pair.contexts) else place
            for place, pair in enumerate(self.pairs)
        )

    def _preferences(self, scorer: SentenceScorer, name: str, chosen: np.ndarray) -> np.ndarray:
        """Return the score of each pair, float64 (n,)."""
        pairs = [self.pairs[item] for item in chosen.tolist()]
        texts = [
            (scorer.words(context), scorer.words(text))
            for pair in pairs
            for context, text in zip(pair.contexts, (pair.good, pair.bad), strict=True)
        ]
        words = scorer.score_words(
            [after_context(context, text) for context, text in texts],
            left_to_right_in_words=self.left_to_right_in_words,
        )
        sums = (of[len(context) :].sum() for of, (context, _) in zip(words, texts, strict=True))
        scores = np.fromiter(sums, np.float64)
        if not np.isfinite(scores).all():
            raise ArtifactError(f"{name}: sentence scores are NaN or infinite; use another run")
        # the empty product, probability 1, would beat every sentence
        scores[[not text for _, text in texts]] = np.nan
        return preferences(*scores.reshape(-1, 2).T)

    def _paradigms(self, whole: Measurement) -> Iterable[Measurement]:
        """Yield the accuracy of each paradigm, whose pairs or contexts are drawn."""
        names = dict.fromkeys(pair.paradigm for pair in self.pairs)
        for number, name in enumerate(names):
            part = whole.part(name, self._paradigm_numbers == number)
            units = _drawn(self._context_numbers, part.items)
            yield replace(part, units=units, reason=whole.reason or part.reason)


def preferences(good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return 1 where ``good`` is higher, 0 where it is lower, 0.5 for ties and missing scores."""
    # good, bad: float64 (n,), in nats; NaN if missing
    ahead = good - bad
    return np.where(ahead > _TIE, 1.0, np.where(ahead < -_TIE, 0.0, 0.5))


def _numbers(names: Iterable[Hashable]) -> np.ndarray:
    """Number names in order of appearance, int64 (n,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def _drawn(numbers: np.ndarray | None, items: np.ndarray) -> np.ndarray | None:
    """Return the unit of each item, int64 (n, 1), or None if items are drawn."""
    return None if numbers is None else numbers[items][:, None]


def _words(text: str) -> list[str]:
    """Return the distinct words of a text, without punctuation unless nothing else is left."""
    found = (_WORD.search(part) for part in text.split())
    return list(dict.fromkeys(match.group() for match in found if match)) or [text]
