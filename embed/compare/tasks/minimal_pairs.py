"""Minimal pairs: is the right one of two sentences the more likely one to a language model?"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from corpora.common.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import set_name
from embed.compare.datasets.sentence_pairs import MinimalPair, read_minimal_pairs, sample_pairs
from embed.compare.inputs.encoder_access import scorer_of
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement
from embed.protocols import SentenceScorer, StaticVectors

# In nats. In other company a sentence scores up to 2e-5 higher or lower, float32 being what it is,
# while of pairs that differ to a trained model fewer than one in 10,000 come so near.
_TIE = 1e-4
_WORD = re.compile(r"\w(?:.*\w)?")  # without the punctuation around it
_NO_SCORES = "has no sentence scores"


@dataclass(frozen=True)
class MinimalPairTask:
    """Pairs of sentences, scored by how often the right one is more likely.

    Warstadt et al. 2020 (arXiv:1912.00582), by pseudo-log-likelihood (Salazar et al. 2020,
    arXiv:1910.14659). An item is a pair; every run that scores sentences is asked all of them,
    and no other run any. A tie counts one half, so that who gives all sentences the same score
    gets exactly .5.
    """

    dataset: str  # name of the set
    pairs: Sequence[MinimalPair]  # the set, or a sample of it
    # whether a piece is predicted without those that follow it in its word (Kauf and Ivanova 2023,
    # arXiv:2305.10588)
    left_to_right_in_words: bool = True
    sections: bool = False  # whether each paradigm is scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "MinimalPairTask":
        """Read a set of pairs of sentences."""
        pairs = sample_pairs(read_minimal_pairs(path), config.limit, config.seed)
        return cls(set_name(path), pairs, config.left_to_right_in_words, config.sections)

    @property
    def n_items(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    def texts(self) -> Iterable[str]:
        """List the words of all sentences, between white space and without punctuation."""
        return list(dict.fromkeys(text for words in self._items for text in words))

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each pair, which only its band of frequency depends on."""
        return self._items

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Tell the pairs that can be asked: all of them, or none."""
        # returns bool (n_items,) or None
        return None if scorer_of(vectors) is None else np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Score both sentences of each pair."""
        # items: bool (n_items,)
        scorer, asked = scorer_of(vectors), np.flatnonzero(items)
        values = None
        if scorer is not None and len(asked):
            values = self._values(scorer, getattr(vectors, "name", "vectors"), asked)
        whole = self._whole(asked, values, _NO_SCORES if scorer is None else "no pair is asked")
        return [whole, *(self._paradigms(whole) if self.sections else ())]

    @cached_property
    def _items(self) -> list[list[str]]:
        """The words of each pair."""
        return [_words(f"{pair.good} {pair.bad}") for pair in self.pairs]

    @cached_property
    def _numbers(self) -> np.ndarray:
        """The paradigm of each pair, int64 (n_items,), in the order of the set."""
        numbers: dict[str, int] = {}
        paradigms = [pair.paradigm for pair in self.pairs]
        return np.array([numbers.setdefault(name, len(numbers)) for name in paradigms], np.int64)

    def _values(self, scorer: SentenceScorer, name: str, asked: np.ndarray) -> np.ndarray:
        """What each pair counts, float64 (n,)."""
        pairs = [self.pairs[item] for item in asked.tolist()]
        sentences = [scorer.words(text) for pair in pairs for text in (pair.good, pair.bad)]
        scores = scorer.score(sentences, left_to_right_in_words=self.left_to_right_in_words)
        if not np.isfinite(scores).all():
            raise ArtifactError(f"{name}: scores sentences by NaN or infinity; take another run")
        # no words, no probabilities to multiply: 1 would beat every sentence
        scores[[not words for words in sentences]] = np.nan
        return preferences(*scores.reshape(-1, 2).T)

    def _whole(self, asked: np.ndarray, values: np.ndarray | None, reason: str) -> Measurement:
        """The whole set."""
        several = len(self._numbers) > 0 and self._numbers.max() > 0
        return Measurement(
            task="minimal-pairs",
            dataset=self.dataset,
            metric="accuracy",
            items=asked,
            items_total=self.n_items,
            statistic=None if values is None else Means(values),
            reason=reason if values is None else None,
            units=self._numbers[asked][:, None] if several else None,
        )

    def _paradigms(self, whole: Measurement) -> Iterable[Measurement]:
        """Each paradigm; its pairs are drawn, as its template drew them."""
        names = dict.fromkeys(pair.paradigm for pair in self.pairs)
        for number, name in enumerate(names):
            part = whole.part(name, self._numbers == number)
            yield replace(part, units=None, reason=whole.reason or part.reason)


def preferences(good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Tell which of two scores is higher."""
    # good, bad: float64 (n,); returns float64 (n,)
    ahead = good - bad
    return np.where(ahead > _TIE, 1.0, np.where(ahead < -_TIE, 0.0, 0.5))


def _words(text: str) -> list[str]:
    """The different words of a text; a sign alone is none, unless there is nothing else."""
    found = (_WORD.search(part) for part in text.split())
    return list(dict.fromkeys(match.group() for match in found if match)) or [text]
