"""Analogies in the form of BATS: relations as lines of a word and all its right answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import set_name
from embed.compare.datasets.questions import Relation, read_relations
from embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from embed.compare.task import Measurement
from embed.compare.tasks.analogy.accuracy import Answered, accuracies, usable, why_unscored
from embed.compare.tasks.analogy.lrcos import correct_by_lrcos
from embed.compare.tasks.analogy.offsets import METRICS, correct_by_offset
from embed.protocols import StaticVectors


@dataclass(frozen=True)
class RelationTask:
    """Relations, asked about by pairs of lines and, by LRCos, line by line.

    Items are, first, the questions: every ordered pair of lines of a section,
    "the first word of one line is to its first answer as the first word of the
    other is to which word?", with all answers of the other line right. Then
    follow the lines themselves, the items of LRCos. A question can be asked
    when its three words, and a line when its first word, are among the
    ``restrict`` most frequent or composed of n-grams, and at least one right
    answer is among the most frequent. An answer is right when it scores above
    every word that is none: a tie is no answer. Where something stands for
    unknown words, everything is asked.
    """

    dataset: str  # name of the set
    relations: Sequence[Relation]  # the set, the lines of a section together
    restrict: int | None  # number of candidates: the first rows of the vectors; None for all
    exclude: bool = True  # whether the words of a question are no answers to it
    sections: bool = False  # whether each section is scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "RelationTask":
        """Read a set of relations."""
        options = config.candidates, config.exclude, config.sections
        return cls(set_name(path), read_relations(path), *options)

    @property
    def n_items(self) -> int:
        """How many questions and lines there are."""
        return len(self._pairs) + len(self.relations)

    def texts(self) -> Iterable[str]:
        """List the words of all lines as the files write them."""
        return [text for line in self.relations for text in (line.word, *line.answers)]

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each question, then of each line."""
        lines = self.relations
        pairs = [
            (lines[one].word, lines[one].answers[0], lines[other].word, lines[other].answers[0])
            for one, other in self._pairs.tolist()
        ]
        return [*pairs, *((line.word, line.answers[0]) for line in lines)]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the questions and lines that can be asked."""
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
        by_pair = self._pairwise(vectors, found, pairs)
        by_line = self._by_class(vectors, found, lines)
        measured = [
            *accuracies(by_pair, of_pairs, reason, sections=self.sections),
            *accuracies(by_line, names, reason, first=n_pairs, sections=self.sections),
        ]
        order = {name: place for place, name in enumerate([None, *dict.fromkeys(names)])}
        return sorted(measured, key=lambda result: order[result.section])

    def _pairwise(self, vectors: StaticVectors, found: FoundWords, asked: np.ndarray) -> Answered:
        """The questions of pairs of lines."""
        one, other = self._pairs[asked].T
        words, answers = self._words(found), self._answers(found)
        places = np.column_stack([words[one], self._firsts(found)[one], words[other]])
        right = correct_by_offset(
            vectors,
            places,
            [answers[line] for line in other],
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        by_metric = dict(zip(METRICS, right, strict=True))
        return self._answered(vectors, found, asked, places, by_metric, self._pairs[asked])

    def _by_class(self, vectors: StaticVectors, found: FoundWords, asked: np.ndarray) -> Answered:
        """The lines, by LRCos."""
        words, answers = self._words(found)[asked], self._answers(found)
        right = correct_by_lrcos(
            vectors,
            words,
            [answers[line] for line in asked.tolist()],
            [self.relations[line].section for line in asked.tolist()],
            self._limit(found.n_words),
            exclude=self.exclude,
            composed=found.composed,
        )
        items, metric = asked + len(self._pairs), {"accuracy_lrcos": right}
        return self._answered(vectors, found, items, words[:, None], metric)

    def _answered(
        self,
        vectors: StaticVectors,
        found: FoundWords,
        items: np.ndarray,
        places: np.ndarray,
        right: dict[str, np.ndarray],
        units: np.ndarray | None = None,
    ) -> Answered:
        """What was asked, with what there is to tell about its words."""
        composed, zero = found.has_composed(places), has_zero(vectors, places)
        return Answered(self.dataset, items, right, composed, zero, units)

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
        """Where the word of each line stands, int64 (L,)."""
        return found.places(line.word for line in self.relations)

    def _firsts(self, found: FoundWords) -> np.ndarray:
        """Where the first answer of each line stands, int64 (L,)."""
        return found.places(line.answers[0] for line in self.relations)

    def _answers(self, found: FoundWords) -> list[np.ndarray]:
        """The candidates among the answers of each line."""
        limit = self._limit(found.n_words)
        places = [found.places(line.answers) for line in self.relations]
        return [rows[(rows >= 0) & (rows < limit)] for rows in places]

    def _limit(self, n_words: int) -> int:
        """How many words are candidates."""
        return n_words if self.restrict is None else min(self.restrict, n_words)
