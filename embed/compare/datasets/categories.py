"""Read words and their categories in the forms that the field uses, found by content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import (
    DELIMITERS,
    Row,
    cut_rows,
    names_in_header,
    only_column,
    read_rows,
    split,
)

_WORD_NAMES = ("word", "words", "concept", "term", "item")
_CATEGORY_NAMES = ("category", "categories", "class", "label", "group")
_EXPECTED = "expected lines of word, category or of number, category, word"


@dataclass(frozen=True)
class CategoryWord:
    """A word and the category that people put it in."""

    word: str  # as the file writes them
    category: str  # as the file writes them


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
    """
    words, named = _categories(path, read_rows(path, nothing=f"no word; {_EXPECTED}"))
    if not named:
        _refuse_singles(path, words)
    return words


def read_groups(path: Path) -> list[tuple[str, str | None]]:
    """Read words to be drawn on a map, and their groups if the file has such."""
    # returns list of tuple of str and (str or None)
    if not path.exists() or path.is_dir():  # else a file or a pipe
        raise SourceError(f"{path}: no such file of words")
    rows = read_rows(path, nothing="no word; expected a word a line, or word, tab, group")
    if not _have_groups(rows):
        return [(row.text, None) for row in rows]
    return [(word.word, word.category) for word in _categories(path, rows)[0]]


def _have_groups(rows: Sequence[Row]) -> bool:
    """Whether most lines are divided; words may hold a space, and a few of them a comma."""
    marks = [delimiter for delimiter in DELIMITERS if delimiter != " "]
    divided = max(sum(len(split(row.text, mark)) > 1 for row in rows) for mark in marks)
    return 2 * divided > len(rows)


def _categories(path: Path, rows: Sequence[Row]) -> tuple[list[CategoryWord], bool]:
    """The words of lines that are not cut yet, and whether a header names the columns."""
    rows = cut_rows(rows, lambda n_fields: n_fields in (2, 3))
    named = _named_columns(rows)
    columns = named or _usual_columns(rows)
    words = [_category_word(row, columns) for row in rows[int(named is not None) :]]
    if not words:
        raise SourceError(f"{path}: holds no word below its first line; {_EXPECTED}")
    return words, named is not None


def _named_columns(rows: Sequence[Row]) -> _Columns | None:
    """The columns as a header names them; None where the first line is no header."""
    names = names_in_header([row.fields for row in rows])
    word, category = only_column(names, _WORD_NAMES), only_column(names, _CATEGORY_NAMES)
    return None if word is None or category is None else _Columns(word, category, len(names))


def _usual_columns(rows: Sequence[Row]) -> _Columns:
    """The columns of a file without a header, by what most lines hold."""
    three = [row.fields for row in rows if len(row.fields) == 3]
    if 2 * len(three) <= len(rows):
        return _Columns(word=0, category=1, width=2)
    if 2 * sum(fields[0].isdecimal() for fields in three) < len(three):
        raise rows[0].wrong(f"begins no list of words and categories; {_EXPECTED}")
    return _Columns(word=2, category=1, width=3)


def _category_word(row: Row, columns: _Columns) -> CategoryWord:
    """One line as a word and its category, or an error that quotes it."""
    fits = len(row.fields) == columns.width
    if not fits or not row.fields[columns.word] or not row.fields[columns.category]:
        raise row.malformed(
            f"{columns.width} fields with {row.between} between, a word and its category among them"
        )
    return CategoryWord(row.fields[columns.word], row.fields[columns.category])


def _refuse_singles(path: Path, words: Sequence[CategoryWord]) -> None:
    """Where categories are more than words, or as many, the columns are most likely reversed."""
    categories = len({word.category for word in words})
    if categories > len({word.word for word in words}) or categories == len(words) > 1:
        raise SourceError(
            f"{path}: holds {categories} categories of {len(words)} words; put the word before its "
            "category, or name the columns in a first line: category, word"
        )
