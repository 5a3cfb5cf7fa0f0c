"""Read analogies: questions of four words, or lines of a word and its answers (BATS)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import (
    DELIMITERS,
    Line,
    find_delimiter,
    quoted,
    read_lines,
    split,
    text_files,
)

_ENOUGH = 100  # lines that tell the form


@dataclass(frozen=True)
class Question:
    """An analogy: the first word is to the second as the third is to the fourth.

    Attributes
    ----------
    words : tuple of four str
        As the file writes them.
    section : str
        The name that the last ``: name`` line gives; empty above the first.
    """

    words: tuple[str, str, str, str]
    section: str = ""


@dataclass(frozen=True)
class Relation:
    """A word and the words that stand in one relation to it, all of them right.

    Attributes
    ----------
    word : str
        As the file writes it.
    answers : tuple of str
        At least one, each once; the first stands for the relation in questions.
    section : str
        The relation: the last ``: name`` line, else the file's name without its
        ending.
    """

    word: str
    answers: tuple[str, ...]
    section: str


def holds_relations(path: Path) -> bool:
    """Tell the two forms of analogies apart by content.

    Parameters
    ----------
    path : Path
        A file, or a folder.

    Returns
    -------
    bool
        True for a folder and for a file in whose first lines two fields are
        more usual than four.

    Raises
    ------
    SourceError
        The file is missing, or no text.
    """
    if path.is_dir():
        return True
    body = _body(read_lines(path))[:_ENOUGH]
    return _most_fitting(body, 2) > _most_fitting(body, 4)


def read_questions(path: Path) -> list[Question]:
    """Read a set of analogy questions.

    Parameters
    ----------
    path : Path
        UTF-8 text, four words a line, in sections begun by ``: name`` lines or
        without sections.

    Returns
    -------
    list of Question
        In the order of the file, repeated questions included.

    Raises
    ------
    SourceError
        The file is missing, is no text, holds no question, or one of its
        lines is neither a question nor a comment; the message quotes line and
        number.
    """
    lines = read_lines(path)
    body = _body(lines)
    if not body:
        raise SourceError(f"{path}: holds no analogy question; expected lines of four words")
    delimiter = find_delimiter(body, lambda fields: fields == 4)
    questions, section = [], ""
    for line in lines:
        if line.text.startswith(":"):
            section = line.text[1:].strip()
        else:
            questions.append(_question(path, line, delimiter, section))
    return questions


def read_relations(path: Path) -> list[Relation]:
    """Read analogies as lines of a word and its answers, the form of BATS.

    Gladkova, Drozd & Matsuoka 2016, "Analogy-based detection of morphological
    and semantic relations with word embeddings".

    Parameters
    ----------
    path : Path
        A folder of ``.txt`` files, perhaps in folders, each a section; or one
        such file: UTF-8 text, a line ``word TAB answer/answer/...``.

    Returns
    -------
    list of Relation
        File by file, in their order.

    Raises
    ------
    SourceError
        A file is missing, is no text or holds no line; or a line is neither a
        word with answers nor a comment: the message quotes it.
    """
    files = text_files(path) if path.is_dir() else [path]
    return [relation for file in files for relation in _file_of_relations(file)]


def _file_of_relations(path: Path) -> list[Relation]:
    """The lines of one file."""
    lines = read_lines(path)
    body = _body(lines)
    if not body:
        raise SourceError(f"{path}: holds no analogy; expected lines of word TAB answer/answer")
    delimiter = find_delimiter(body, lambda fields: fields == 2)
    relations, section = [], path.stem
    for line in lines:
        if line.text.startswith(":"):
            section = line.text[1:].strip()
        else:
            relations.append(_relation(path, line, delimiter, section))
    return relations


def _body(lines: Sequence[Line]) -> list[Line]:
    """The lines that are no headings."""
    return [line for line in lines if not line.text.startswith(":")]


def _most_fitting(lines: Sequence[Line], n_fields: int) -> int:
    """How many lines have so many fields by the best delimiter."""
    delimiter = find_delimiter(lines, lambda fields: fields == n_fields)
    return sum(len(split(line.text, delimiter)) == n_fields for line in lines)


def _question(path: Path, line: Line, delimiter: str, section: str) -> Question:
    """One line as a question, or an error that quotes it."""
    fields = split(line.text, delimiter)
    if len(fields) != 4 or not all(fields):
        raise SourceError(
            f"{path}:{line.number}: {quoted(line.text)} is not four words with "
            f"{DELIMITERS[delimiter]} between; correct it, or begin a section with ':' "
            "and a comment with '#'"
        )
    a, b, c, d = fields
    return Question((a, b, c, d), section)


def _relation(path: Path, line: Line, delimiter: str, section: str) -> Relation:
    """One line as a word and its answers, or an error that quotes it."""
    word, *rest = split(line.text, delimiter)
    answers = dict.fromkeys(answer.strip() for answer in rest[0].split("/")) if rest else {}
    answers.pop("", None)
    if len(rest) != 1 or not word or not answers:
        raise SourceError(
            f"{path}:{line.number}: {quoted(line.text)} is not a word and its answers, "
            f"answer/answer, with {DELIMITERS[delimiter]} between; correct it, or begin a "
            "comment with '#'"
        )
    return Relation(word, tuple(answers), section)
