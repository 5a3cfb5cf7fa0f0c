"""Read analogies: questions of four words, or lines of a word and its answers (BATS)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from firth.embed.compare.datasets.fields import (
    TEXT_FILES,
    Row,
    cut_rows,
    files_of,
    is_number,
    read_rows,
)
from firth.embed.compare.datasets.head import Head

_SNIFFED_LINES = 100  # enough to detect the form


@dataclass(frozen=True)
class Question:
    """An analogy: the first word is to the second as the third is to the fourth."""

    words: tuple[str, str, str, str]  # as the file writes them
    section: str = ""  # from the last ``: name`` line; empty before the first


@dataclass(frozen=True)
class Relation:
    """A word and all the correct answers to it under one relation."""

    word: str  # as the file writes it
    answers: tuple[str, ...]  # at least one, distinct; questions use the first as the example
    section: str  # the relation, from the last ``: name`` line, else the file name without ending


def read_analogies(path: Path) -> list[Question] | list[Relation]:
    """Read a set of either form; every folder is of relations."""
    if not path.is_dir():
        rows = read_rows(path, sections=True)[:_SNIFFED_LINES]
        if _most_fitting(rows, 2) <= _most_fitting(rows, 4):
            return read_questions(path)
    return read_relations(path)


def looks_like_analogies(head: Head) -> bool:
    """Return whether lines are four words, or a word and its answers."""
    questions, relations = head.records(4), head.records(2)
    if questions:
        return not any(is_number(field) for field in questions[-1])
    answers = [answer for _, answer in relations if not is_number(answer)]
    in_sections = any(line.startswith(":") or "/" in line for line in head.lines)
    return 2 * len(answers) > len(relations) and (
        in_sections or 2 * len(set(answers)) > len(answers)
    )


def read_questions(path: Path) -> list[Question]:
    """Read a set of analogy questions."""
    nothing = "no analogy questions; expected lines of four words"
    rows = read_rows(path, lambda n_fields: n_fields == 4, nothing=nothing, sections=True)
    return [_question(row) for row in rows]


def read_relations(path: Path) -> list[Relation]:
    """Read a word and its answers a line, the form of BATS (Gladkova et al. 2016)."""
    files = files_of(path, TEXT_FILES) if path.is_dir() else [path]
    nothing = "no analogies; expected lines of word TAB answer/answer"
    rows = (read_rows(file, lambda n: n == 2, nothing=nothing, sections=True) for file in files)
    return [_relation(row) for of_file in rows for row in of_file]


def _most_fitting(rows: list[Row], n_fields: int) -> int:
    """Count the lines with ``n_fields`` fields under the best delimiter."""
    cut = cut_rows(rows, lambda n: n == n_fields)
    return sum(len(row.fields) == n_fields for row in cut)


def _question(row: Row) -> Question:
    """Parse one line as a question."""
    if len(row.fields) != 4 or not all(row.fields):
        raise row.wrong(
            f"is not four words separated by {row.between}; correct it, or start a section with "
            "':' and a comment with '#'"
        )
    a, b, c, d = row.fields
    return Question((a, b, c, d), row.section or "")


def _relation(row: Row) -> Relation:
    """Parse one line as a word and its answers."""
    word, *rest = row.fields
    answers = dict.fromkeys(answer.strip() for answer in rest[0].split("/")) if rest else {}
    answers.pop("", None)
    if len(rest) != 1 or not word or not answers:
        raise row.malformed(f"a word and its answers, answer/answer, separated by {row.between}")
    section = row.path.stem if row.section is None else row.section
    return Relation(word, tuple(answers), section)


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
