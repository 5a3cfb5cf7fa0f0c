"""Analogies: whether a right answer is the best to "a is to b as c is to which word?"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import TEXT_FILES
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.questions import (
    LinePairs,
    Question,
    Relation,
    looks_like_analogies,
    pairs_in_questions,
    pairs_in_sections,
    read_analogies,
)
from firth.embed.compare.inputs.lookup import FoundWords, find_words, has_zero
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.analogy.lrcos import correct_by_lrcos
from firth.embed.compare.tasks.analogy.offsets import BY_OFFSET, correct_by_offset
from firth.embed.protocols import StaticVectors


@dataclass(frozen=True)
class AnalogyTask(Task):
    """Analogies, scored by accuracy: whether a right answer scores strictly best.

    The items are questions of two lines, each a word and its answers. Relations, the form of BATS,
    ask every ordered pair of lines of a section; their lines are further items, those of LRCos. An
    item is known if its words are among the ``restrict`` most frequent, the candidates, or
    composed, and a right answer is a candidate. If unknown words get a vector, all are scored.
    """

    dataset: str  # name of the set
    lines: Sequence[Question] | Sequence[Relation]  # the set
    restrict: int | None  # number of candidates, most frequent first; None for all
    sections: bool = False  # whether each section is scored as well
    key = "analogy"
    skill = "analogies"
    looks = staticmethod(looks_like_analogies)
    metrics: ClassVar = {
        "accuracy": "share of questions answered right by the word nearest to b - a + c (3CosAdd)",
        "accuracy_3cosmul": "the same by a product of similarities instead of a sum",
        "accuracy_pairdirection": "the same by the direction of the difference alone",
        "accuracy_lrcos": "the same with a classifier of the answers' class",
    }
    inner_files = TEXT_FILES

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "AnalogyTask":
        """Read a set of analogies of either form."""
        return cls(set_name(path), read_analogies(path), config.candidates, config.sections)

    @property
    def n_items(self) -> int:
        """Number of questions and, of relations, lines."""
        return len(self._pairs.questions) + self._n_lines

    def texts(self) -> Sequence[str]:
        """Return the words of all lines as the files write them."""
        return [text for line in self._pairs.lines for text in (line.word, *line.answers)]

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each question, then of each line."""
        words = [(line.word, line.answers[0]) for line in self._pairs.lines]
        questions = [(*words[one], *words[other]) for one, other in self._pairs.questions.tolist()]
        return [*questions, *words[: self._n_lines]]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the known questions and lines."""
        # returns bool (n_items,)
        if unknown != "skip":
            return np.ones(self.n_items, dtype=bool)
        found, words, firsts, answers = self._look_up(vectors, unknown)
        limit = self._limit(vectors)
        word, first = (  # composed vectors follow the vocabulary
            ((rows >= 0) & (rows < limit)) | (rows >= found.n_words) for rows in (words, firsts)
        )
        line = word & np.array([len(rows) > 0 for rows in answers])
        one, other = self._pairs.questions.T
        return np.concatenate([(word & first)[one] & line[other], line[: self._n_lines]])

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Answer questions by 3CosAdd, 3CosMul and PairDirection, lines of relations by LRCos."""
        # items: bool (n_items,)
        found, words, firsts, answers = self._look_up(vectors, unknown)
        limit, pairs = self._limit(vectors), self._pairs
        chosen = np.flatnonzero(items)
        questions, lines = np.split(chosen, [np.searchsorted(chosen, len(pairs.questions))])
        one, other = pairs.questions[questions].T
        asked = np.column_stack([words[one], firsts[one], words[other]])
        by_offset = correct_by_offset(
            vectors,
            asked,
            [answers[line] for line in other],
            limit,
            composed=found.composed,
        )
        measured = self._accuracies(
            dict(zip(BY_OFFSET, by_offset, strict=True)),
            questions,
            pairs.sections,
            _counts(vectors, found, asked if self._n_lines else np.c_[asked, firsts[other]]),
            units=pairs.questions[questions],
        )
        if not self._n_lines:
            return measured
        lines -= len(pairs.questions)
        sections = [line.section for line in pairs.lines]
        by_lrcos = correct_by_lrcos(
            vectors,
            words[lines],
            [answers[line] for line in lines],
            [sections[line] for line in lines],
            limit,
            composed=found.composed,
        )
        measured += self._accuracies(
            {"accuracy_lrcos": by_lrcos},
            lines,
            sections,
            _counts(vectors, found, words[lines, None]),
            first=len(pairs.questions),
        )
        order = [None, *dict.fromkeys(sections)]
        return sorted(measured, key=lambda result: order.index(result.section))

    @cached_property
    def _pairs(self) -> LinePairs:
        """The questions as pairs of lines."""
        relations = [line for line in self.lines if isinstance(line, Relation)]
        if relations:
            return pairs_in_sections(relations)
        return pairs_in_questions([line for line in self.lines if isinstance(line, Question)])

    @property
    def _n_lines(self) -> int:
        """Number of lines that are items."""
        return len(self.lines) if isinstance(self.lines[0], Relation) else 0

    def _limit(self, vectors: StaticVectors) -> int:
        """Return the number of candidates."""
        n_words = len(vectors.vocabulary)
        return n_words if self.restrict is None else min(self.restrict, n_words)

    def _look_up(
        self, vectors: StaticVectors, unknown: str
    ) -> tuple[FoundWords, np.ndarray, np.ndarray, list[np.ndarray]]:
        """Look up all words; also return the rows of each line: word, first answer, answers."""
        found, lines = find_words(vectors, self.texts(), unknown), self._pairs.lines
        words = found.places(line.word for line in lines)
        firsts = found.places(line.answers[0] for line in lines)
        answers = [found.places(line.answers) for line in lines]
        limit = self._limit(vectors)
        return found, words, firsts, [rows[(rows >= 0) & (rows < limit)] for rows in answers]

    def _accuracies(
        self,
        correct: Mapping[str, np.ndarray],
        numbers: np.ndarray,
        sections: Sequence[str],
        counts: Mapping[str, np.ndarray],
        first: int = 0,
        units: np.ndarray | None = None,
    ) -> list[Measurement]:
        """Return accuracies on questions or lines, over all and, if wanted, by section."""
        # correct: bool (n,) by metric; numbers: int64 (n,), places in sections; counts: bool (n,)
        # by field; first: item number of the first question or line
        names = np.array(sections, dtype=object)
        parts: list[tuple[str | None, np.ndarray]] = [(None, np.ones(len(names), dtype=bool))]
        if self.sections:
            parts += [(name, names == name) for name in dict.fromkeys(sections)]
        return [
            self._measurement(
                metric,
                numbers[inside] + first,
                Means(right[inside]),
                None if inside.any() else self._why_unscored(),
                section=section,
                items_total=int(part.sum()),
                first=first,
                units=None if units is None else units[inside],
                **{field: int(marked[inside].sum()) for field, marked in counts.items()},
            )
            for section, part in parts
            for inside in [part[numbers]]
            for metric, right in correct.items()
        ]

    def _why_unscored(self) -> str:
        """Return why no question could be scored."""
        if self.restrict is None:
            return "no question has all its words in the vocabulary"
        return f"no question has all its words among the {self.restrict:,} most frequent"


def _counts(vectors: StaticVectors, found: FoundWords, places: np.ndarray) -> dict[str, np.ndarray]:
    """Return which items have a composed vector, and which a zero vector."""
    # places: int64 (n, k)
    return {"items_composed": found.has_composed(places), "items_zero": has_zero(vectors, places)}
