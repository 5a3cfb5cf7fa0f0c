"""Analogies: is the fourth word the best answer to "a is to b as c is to which word?"."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import set_name
from embed.compare.datasets.questions import Question, holds_relations, read_questions
from embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from embed.compare.task import Measurement, Task
from embed.compare.tasks.analogy.accuracy import Answered, accuracies, usable, why_unscored
from embed.compare.tasks.analogy.bats import RelationTask
from embed.compare.tasks.analogy.offsets import METRICS, correct_by_offset
from embed.protocols import StaticVectors


@dataclass(frozen=True)
class AnalogyTask:
    """A set of analogy questions, scored by the share answered rightly.

    An item is a question. It can be asked when its four words are among the
    ``restrict`` most frequent words. The answer is sought among the same
    words, those of the question excluded or not, and is right when the fourth
    word alone scores best: a tie is no answer. In place of any of the first
    three a word outside the vocabulary will do when its vector is composed of
    n-grams; an answer always comes from the vocabulary. Where something stands
    for unknown words, every question is asked, and one whose fourth word is no
    candidate is answered wrongly.
    """

    dataset: str  # name of the set
    questions: Sequence[Question]  # the set
    restrict: int | None  # number of candidates: the first rows of the vectors; None for all
    exclude: bool = True  # whether the words of a question are no answers to it
    sections: bool = False  # whether each section is scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> Task:
        """Read a set of analogies in either form."""
        if holds_relations(path):
            return RelationTask.read(path, config)
        options = config.candidates, config.exclude, config.sections
        return cls(set_name(path), read_questions(path), *options)

    @property
    def n_items(self) -> int:
        """How many questions there are."""
        return len(self.questions)

    def texts(self) -> Iterable[str]:
        """List the words of all questions as the file writes them."""
        return [text for question in self.questions for text in question.words]

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each question."""
        return [question.words for question in self.questions]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the questions that can be asked."""
        # returns bool (n_items,)
        if unknown != "skip":
            return np.ones(self.n_items, dtype=bool)
        n_words = len(vectors.vocabulary)
        places = self._places(find_words(vectors, self.texts()))
        asked = usable(places[:, :3], self._limit(n_words), n_words).all(axis=1)
        return asked & self._candidates(places[:, 3], n_words)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Answer questions by 3CosAdd, 3CosMul and PairDirection."""
        # items: bool (n_items,)
        found, asked = find_words(vectors, self.texts(), unknown), np.flatnonzero(items)
        places = self._places(found)[asked]
        fourth = places[:, 3:]
        inside = self._candidates(fourth, found.n_words)
        answers = [rows[kept] for rows, kept in zip(fourth, inside, strict=True)]
        right = correct_by_offset(
            vectors,
            places[:, :3],
            answers,
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        answered = Answered(
            self.dataset,
            asked,
            dict(zip(METRICS, right, strict=True)),
            found.has_composed(places),
            has_zero(vectors, places),
            self._pairs[asked],
        )
        names = [question.section for question in self.questions]
        reason = why_unscored(self.restrict)
        return accuracies(answered, names, reason, sections=self.sections)

    @cached_property
    def _pairs(self) -> np.ndarray:
        """Numbers of the two pairs of words of each question, int64 (Q, 2)."""
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
        """Where the four words of each question stand, int64 (Q, 4)."""
        return found.places(self.texts()).reshape(-1, 4)

    def _limit(self, n_words: int) -> int:
        """How many words are candidates."""
        return n_words if self.restrict is None else min(self.restrict, n_words)

    def _candidates(self, places: np.ndarray, n_words: int) -> np.ndarray:
        """Which words are candidates."""
        return (places >= 0) & (places < self._limit(n_words))
