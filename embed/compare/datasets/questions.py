"""Read analogies: questions of four words, or lines of a word and its answers (BATS)."""

from dataclasses import dataclass
from pathlib import Path

from embed.compare.datasets.fields import Row, cut_rows, read_rows, text_files

_ENOUGH = 100  # lines that tell the form


@dataclass(frozen=True)
class Question:
    """An analogy: the first word is to the second as the third is to the fourth."""

    words: tuple[str, str, str, str]  # as the file writes them
    section: str = ""  # the name that the last ``: name`` line gives; empty above the first


@dataclass(frozen=True)
class Relation:
    """A word and the words that stand in one relation to it, all of them right."""

    word: str  # as the file writes it
    # at least one, each once; the first stands for the relation in questions
    answers: tuple[str, ...]
    section: str  # the relation: the last ``: name`` line, else the file's name without its ending


def holds_relations(path: Path) -> bool:
    """Tell the two forms of analogies apart by content."""
    if path.is_dir():
        return True
    rows = read_rows(path, sections=True)[:_ENOUGH]
    return _most_fitting(rows, 2) > _most_fitting(rows, 4)


def read_questions(path: Path) -> list[Question]:
    """Read a set of analogy questions."""
    nothing = "no analogy question; expected lines of four words"
    rows = read_rows(path, lambda n_fields: n_fields == 4, nothing=nothing, sections=True)
    return [_question(row) for row in rows]


def read_relations(path: Path) -> list[Relation]:
    """Read analogies as lines of a word and its answers, the form of BATS.

    Gladkova, Drozd & Matsuoka 2016, "Analogy-based detection of morphological
    and semantic relations with word embeddings".
    """
    files = text_files(path) if path.is_dir() else [path]
    return [relation for file in files for relation in _file_of_relations(file)]


def _file_of_relations(path: Path) -> list[Relation]:
    """The lines of one file."""
    nothing = "no analogy; expected lines of word TAB answer/answer"
    rows = read_rows(path, lambda n_fields: n_fields == 2, nothing=nothing, sections=True)
    return [_relation(row) for row in rows]


def _most_fitting(rows: list[Row], n_fields: int) -> int:
    """How many lines have so many fields by the best delimiter."""
    cut = cut_rows(rows, lambda n: n == n_fields)
    return sum(len(row.fields) == n_fields for row in cut)


def _question(row: Row) -> Question:
    """One line as a question, or an error that quotes it."""
    if len(row.fields) != 4 or not all(row.fields):
        raise row.wrong(
            f"is not four words with {row.between} between; correct it, or begin a section with "
            "':' and a comment with '#'"
        )
    a, b, c, d = row.fields
    return Question((a, b, c, d), row.section or "")


def _relation(row: Row) -> Relation:
    """One line as a word and its answers, or an error that quotes it."""
    word, *rest = row.fields
    answers = dict.fromkeys(answer.strip() for answer in rest[0].split("/")) if rest else {}
    answers.pop("", None)
    if len(rest) != 1 or not word or not answers:
        raise row.malformed(f"a word and its answers, answer/answer, with {row.between} between")
    section = row.path.stem if row.section is None else row.section
    return Relation(word, tuple(answers), section)
