"""Read words and their categories in the forms that the field uses, found by content."""

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
)

_WORD_NAMES = ("word", "words", "concept", "term", "item")
_CATEGORY_NAMES = ("category", "categories", "class", "label", "group")
_EXPECTED = "expected lines of word, category or of number, category, word"


@dataclass(frozen=True)
class CategoryWord:
    """A word and the category that people put it in.

    Attributes
    ----------
    word, category : str
        As the file writes them.
    """

    word: str
    category: str


@dataclass(frozen=True)
class _Columns:
    """Where a file keeps what we need, and its number of columns."""

    word: int
    category: int
    width: int


def read_categories(path: Path) -> list[CategoryWord]:
    """Read words and their categories.

    A header names the columns. Without one, lines of two fields are word,
    category; lines of three are number, category, word.

    Parameters
    ----------
    path : Path
        UTF-8 text, a word a line.

    Returns
    -------
    list of CategoryWord
        In the order of the file.

    Raises
    ------
    SourceError
        The file is missing, is no text, holds no word; a line is of another
        form: the message quotes it; or, without a header, there are as many categories as words.
    """
    return categories_of(path, read_lines(path))


def categories_of(
    path: Path, lines: Sequence[Line], *, singles: bool = False
) -> list[CategoryWord]:
    """Take words and their categories from lines that were read.

    Parameters
    ----------
    path : Path
        Where they stand, for messages.
    lines : sequence of Line
        Of :func:`~embed.compare.datasets.fields.read_lines`.
    singles : bool
        Whether each word may have a category of its own. Sets to be scored have none of that
        kind: there the columns are most likely reversed.

    Returns
    -------
    list of CategoryWord
        In the order of the lines.

    Raises
    ------
    SourceError
        As :func:`read_categories` does, but for what ``singles`` allows.
    """
    if not lines:
        raise SourceError(f"{path}: holds no word; {_EXPECTED}")
    delimiter = find_delimiter(lines, lambda fields: fields in (2, 3))
    records = [split(line.text, delimiter) for line in lines]
    named = _named_columns(records[0], len(records[-1]))
    columns = named or _usual_columns(path, lines[0], records)
    header = int(named is not None)
    words = [
        _category_word(path, line, fields, columns, delimiter)
        for line, fields in zip(lines[header:], records[header:], strict=True)
    ]
    if not words:
        raise SourceError(f"{path}: holds no word below its first line; {_EXPECTED}")
    if named is None and not singles:
        _refuse_singles(path, words)
    return words


def read_groups(path: Path) -> list[tuple[str, str | None]]:
    """Read words to be drawn on a map, and their groups if the file has such.

    Parameters
    ----------
    path : Path
        UTF-8: a word a line; or, on most lines, a word, a tab, comma or semicolon, and its
        group; or a set of categories as ``firth compare --categories`` reads it. May be a pipe.

    Returns
    -------
    list of tuple of str and (str or None)
        Words and groups in the order of the file.

    Raises
    ------
    SourceError
        There is no such file, it holds no word, or a line is of another form
        than the others.
    """
    if not path.exists() or path.is_dir():  # else a file or a pipe
        raise SourceError(f"{path}: no such file of words")
    lines = read_lines(path)
    if not lines:
        raise SourceError(f"{path}: holds no word; expected a word a line, or word, tab, group")
    if _have_groups(lines):
        return [(word.word, word.category) for word in categories_of(path, lines, singles=True)]
    return [(line.text, None) for line in lines]


def _have_groups(lines: Sequence[Line]) -> bool:
    """Whether most lines are divided; words may hold a space, and a few of them a comma."""
    marks = [delimiter for delimiter in DELIMITERS if delimiter != " "]
    divided = max(sum(len(split(line.text, mark)) > 1 for line in lines) for mark in marks)
    return 2 * divided > len(lines)


def _named_columns(header: Sequence[str], width: int) -> _Columns | None:
    """The columns as a header names them; None where the first line is no header."""
    names = [name.lower() for name in header]
    if len(names) == width - 1:
        names = ["", *names]  # a tab above the numbers was taken for white space
    words = [place for place, name in enumerate(names) if name in _WORD_NAMES]
    categories = [place for place, name in enumerate(names) if name in _CATEGORY_NAMES]
    if len(words) != 1 or len(categories) != 1:
        return None
    return _Columns(words[0], categories[0], len(names))


def _usual_columns(path: Path, first: Line, records: Sequence[Sequence[str]]) -> _Columns:
    """The columns of a file without a header, by what most lines hold."""
    three = [fields for fields in records if len(fields) == 3]
    if 2 * len(three) <= len(records):
        return _Columns(word=0, category=1, width=2)
    if 2 * sum(fields[0].isdecimal() for fields in three) < len(three):
        raise SourceError(
            f"{path}:{first.number}: {quoted(first.text)} begins no list of words and "
            f"categories; {_EXPECTED}"
        )
    return _Columns(word=2, category=1, width=3)


def _category_word(
    path: Path, line: Line, fields: Sequence[str], columns: _Columns, delimiter: str
) -> CategoryWord:
    """One line as a word and its category, or an error that quotes it."""
    fits = len(fields) == columns.width
    if not fits or not fields[columns.word] or not fields[columns.category]:
        raise SourceError(
            f"{path}:{line.number}: {quoted(line.text)} is not {columns.width} fields with "
            f"{DELIMITERS[delimiter]} between, a word and its category among them; correct it, "
            "or begin a comment with '#'"
        )
    return CategoryWord(fields[columns.word], fields[columns.category])


def _refuse_singles(path: Path, words: Sequence[CategoryWord]) -> None:
    """Where categories are more than words, or as many, the columns are most likely reversed."""
    categories = len({word.category for word in words})
    if categories > len({word.word for word in words}) or categories == len(words) > 1:
        raise SourceError(
            f"{path}: holds {categories} categories of {len(words)} words; put the word before its "
            "category, or name the columns in a first line: category, word"
        )
