"""Read analogies: questions of four words, or lines of a word and its answers (BATS)."""

from dataclasses import dataclass
from pathlib import Path

from embed.compare.datasets.fields import Row, cut_rows, read_rows, text_files

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
    rows = read_rows(path, sections=True)[:_ENOUGH]
    return _most_fitting(rows, 2) > _most_fitting(rows, 4)


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
    nothing = "no analogy question; expected lines of four words"
    rows = read_rows(path, lambda n_fields: n_fields == 4, nothing=nothing, sections=True)
    return [_question(row) for row in rows]


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
