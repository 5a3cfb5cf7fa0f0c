"""Analogies: whether the fourth word is the best answer to "a is to b as c is to which word?"."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.questions import (
    Question,
    holds_relations,
    read_questions,
)
from firth.embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.analogy.accuracy import (
    AnalogySet,
    ScoredQuestions,
    accuracies,
    usable,
    why_unscored,
)
from firth.embed.compare.tasks.analogy.bats import RelationTask
from firth.embed.compare.tasks.analogy.offsets import BY_OFFSET, correct_by_offset
from firth.embed.protocols import StaticVectors


@dataclass(frozen=True)
class AnalogyTask(AnalogySet):
    """Analogy questions, scored by accuracy: whether the fourth word scores strictly best.

    A question is known if its words are among the ``restrict`` most frequent, the candidates; the
    first three may also be composed. If unknown words get a vector, all questions are scored.
    """

    dataset: str  # name of the set
    questions: Sequence[Question]  # the set
    restrict: int | None  # number of candidates, most frequent first; None for all
    exclude: bool = True  # whether the words of a question are excluded as its answers
    sections: bool = False  # whether each section is scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> Task:
        """Read a set of analogies; the BATS form gives a RelationTask."""
        if holds_relations(path):
            return RelationTask.read(path, config)
        options = config.candidates, config.exclude, config.sections
        return cls(set_name(path), read_questions(path), *options)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each question."""
        return [question.words for question in self.questions]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the known questions."""
        # returns bool (n_items,)
        if unknown != "skip":
            return np.ones(self.n_items, dtype=bool)
        n_words = len(vectors.vocabulary)
        places = self._places(find_words(vectors, self.texts()))
        known = usable(places[:, :3], self._limit(n_words), n_words).all(axis=1)
        return known & self._candidates(places[:, 3], n_words)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Answer questions by 3CosAdd, 3CosMul and PairDirection."""
        # items: bool (n_items,)
        found, chosen = find_words(vectors, self.texts(), unknown), np.flatnonzero(items)
        places = self._places(found)[chosen]
        fourth = places[:, 3:]
        inside = self._candidates(fourth, found.n_words)
        answers = [rows[kept] for rows, kept in zip(fourth, inside, strict=True)]
        correct = correct_by_offset(
            vectors,
            places[:, :3],
            answers,
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        scored = ScoredQuestions(
            self.dataset,
            chosen,
            dict(zip(BY_OFFSET, correct, strict=True)),
            found.has_composed(places),
            has_zero(vectors, places),
            self._pairs[chosen],
        )
        names = [question.section for question in self.questions]
        reason = why_unscored(self.restrict)
        return accuracies(scored, names, reason, sections=self.sections)

    @cached_property
    def _pairs(self) -> np.ndarray:
        """Numbers of the two word pairs of each question, int64 (Q, 2)."""
        words = [question.words for question in self.questions]
        numbers: dict[tuple[str, str], int] = {}
        return np.array(
            [
                [numbers.setdefault(pair, len(numbers)) for pair in ((a, b), (c, d))]
                for a, b, c, d in words
            ],
            dtype=np.int64,
        ).reshape(-1, 2)

    def _places(self, found: FoundWords) -> np.ndarray:
        """Return the rows of the four words of each question, int64 (Q, 4)."""
        return found.places(self.texts()).reshape(-1, 4)

    def _candidates(self, places: np.ndarray, n_words: int) -> np.ndarray:
        """Return which words are candidates."""
        return (places >= 0) & (places < self._limit(n_words))
