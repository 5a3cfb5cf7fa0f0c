"""Analogies in the form of BATS: relations as lines of a word and all its correct answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.questions import Relation, read_relations
from firth.embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.analogy.accuracy import (
    AnalogySet,
    ScoredQuestions,
    accuracies,
    usable,
    why_unscored,
)
from firth.embed.compare.tasks.analogy.lrcos import correct_by_lrcos
from firth.embed.compare.tasks.analogy.offsets import BY_OFFSET, correct_by_offset
from firth.embed.protocols import StaticVectors


@dataclass(frozen=True)
class RelationTask(AnalogySet):
    """Relations, scored as questions from pairs of lines and, by LRCos, line by line.

    First the questions, every ordered pair of lines of a section, for which all answers of the
    other line are correct; then the lines, the items of LRCos. One is known if its words are among
    the ``restrict`` most frequent or composed, and a correct answer is among the most frequent.
    """

    dataset: str  # name of the set
    relations: Sequence[Relation]  # grouped by section
    restrict: int | None  # number of candidates, most frequent first; None for all
    exclude: bool = True  # whether the words of a question are excluded as its answers
    sections: bool = False  # whether each section is scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "RelationTask":
        """Read a set of relations."""
        options = config.candidates, config.exclude, config.sections
        return cls(set_name(path), read_relations(path), *options)

    @property
    def n_items(self) -> int:
        """Number of questions and lines."""
        return len(self._pairs) + len(self.relations)

    def texts(self) -> Iterable[str]:
        """Return the words of all lines as the files write them."""
        return [text for line in self.relations for text in (line.word, *line.answers)]

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each question, then of each line."""
        lines = self.relations
        pairs = [
            (lines[one].word, lines[one].answers[0], lines[other].word, lines[other].answers[0])
            for one, other in self._pairs.tolist()
        ]
        return [*pairs, *((line.word, line.answers[0]) for line in lines)]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the known questions and lines."""
        # returns bool (n_items,)
        if unknown != "skip":
            return np.ones(self.n_items, dtype=bool)
        found = find_words(vectors, self.texts())
        limit = self._limit(found.n_words)
        word = usable(self._words(found), limit, found.n_words)
        first = usable(self._firsts(found), limit, found.n_words)
        line = word & np.array([len(rows) > 0 for rows in self._answers(found)])
        one, other = self._pairs.T
        return np.concatenate([(word & first)[one] & line[other], line])

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Answer questions by 3CosAdd, 3CosMul and PairDirection, lines by LRCos."""
        # items: bool (n_items,)
        found, n_pairs = find_words(vectors, self.texts(), unknown), len(self._pairs)
        names = [line.section for line in self.relations]
        of_pairs = [names[one] for one in self._pairs[:, 0]]
        pairs, lines = np.flatnonzero(items[:n_pairs]), np.flatnonzero(items[n_pairs:])
        reason = why_unscored(self.restrict)
        by_pair = self._score_pairs(vectors, found, pairs)
        by_line = self._score_lines(vectors, found, lines)
        measured = [
            *accuracies(by_pair, of_pairs, reason, sections=self.sections),
            *accuracies(by_line, names, reason, first=n_pairs, sections=self.sections),
        ]
        order = {name: place for place, name in enumerate([None, *dict.fromkeys(names)])}
        return sorted(measured, key=lambda result: order[result.section])

    def _score_pairs(
        self, vectors: StaticVectors, found: FoundWords, chosen: np.ndarray
    ) -> ScoredQuestions:
        """Score the questions from pairs of lines."""
        one, other = self._pairs[chosen].T
        words, answers = self._words(found), self._answers(found)
        places = np.column_stack([words[one], self._firsts(found)[one], words[other]])
        correct = correct_by_offset(
            vectors,
            places,
            [answers[line] for line in other],
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        by_metric = dict(zip(BY_OFFSET, correct, strict=True))
        return self._scored(vectors, found, chosen, places, by_metric, self._pairs[chosen])

    def _score_lines(
        self, vectors: StaticVectors, found: FoundWords, chosen: np.ndarray
    ) -> ScoredQuestions:
        """Score the lines by LRCos."""
        words, answers = self._words(found)[chosen], self._answers(found)
        correct = correct_by_lrcos(
            vectors,
            words,
            [answers[line] for line in chosen.tolist()],
            [self.relations[line].section for line in chosen.tolist()],
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        items, metric = chosen + len(self._pairs), {"accuracy_lrcos": correct}
        return self._scored(vectors, found, items, words[:, None], metric)

    def _scored(
        self,
        vectors: StaticVectors,
        found: FoundWords,
        items: np.ndarray,
        places: np.ndarray,
        correct: dict[str, np.ndarray],
        units: np.ndarray | None = None,
    ) -> ScoredQuestions:
        """Return the scored items with the counts of composed and zero vectors."""
        composed, zero = found.has_composed(places), has_zero(vectors, places)
        return ScoredQuestions(self.dataset, items, correct, composed, zero, units)

    @cached_property
    def _pairs(self) -> np.ndarray:
        """The two lines of each question, int64 (Q, 2)."""
        sections: dict[str, list[int]] = {}
        for place, line in enumerate(self.relations):
            sections.setdefault(line.section, []).append(place)
        pairs = [
            (one, other)
            for lines in sections.values()
            for one in lines
            for other in lines
            if one != other
        ]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def _words(self, found: FoundWords) -> np.ndarray:
        """Return the row of the word of each line, int64 (L,)."""
        return found.places(line.word for line in self.relations)

    def _firsts(self, found: FoundWords) -> np.ndarray:
        """Return the row of the first answer of each line, int64 (L,)."""
        return found.places(line.answers[0] for line in self.relations)

    def _answers(self, found: FoundWords) -> list[np.ndarray]:
        """Return the rows of the answers of each line that are candidates."""
        limit = self._limit(found.n_words)
        places = [found.places(line.answers) for line in self.relations]
        return [rows[(rows >= 0) & (rows < limit)] for rows in places]
