"""Questions of analogies as pairs of lines, whichever form the set has."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from firth.embed.compare.datasets.questions import Question, Relation


@dataclass(frozen=True)
class LinePairs:
    """Lines of a word and its answers, and the questions that pairs of them ask."""

    lines: Sequence[Relation]
    questions: np.ndarray  # int64 (Q, 2): the two lines of each question
    sections: Sequence[str]  # of each question


def pairs_in_questions(questions: Sequence[Question]) -> LinePairs:
    """Return the distinct word pairs of questions as lines of one answer."""
    numbers: dict[tuple[str, ...], int] = {}
    pairs = [
        [numbers.setdefault(pair, len(numbers)) for pair in (each.words[:2], each.words[2:])]
        for each in questions
    ]
    lines = [Relation(word, (answer,), "") for word, answer in numbers]
    sections = [each.section for each in questions]
    return LinePairs(lines, np.array(pairs, dtype=np.int64).reshape(-1, 2), sections)


def pairs_in_sections(lines: Sequence[Relation]) -> LinePairs:
    """Return every ordered pair of lines of a section as a question."""
    members: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        members.setdefault(line.section, []).append(number)
    pairs = [pair for numbers in members.values() for pair in permutations(numbers, 2)]
    sections = [lines[one].section for one, _ in pairs]
    return LinePairs(lines, np.array(pairs, dtype=np.int64).reshape(-1, 2), sections)
