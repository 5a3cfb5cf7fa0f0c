"""Read words and their categories; the form of a file is detected from its content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import (
    DELIMITERS,
    Row,
    cut_rows,
    is_number,
    names_in_header,
    only_column,
    read_rows,
    split,
)
from firth.embed.compare.datasets.head import Head

WORD_NAMES = ("word", "words", "concept", "term", "item", "node")
CATEGORY_NAMES = ("category", "categories", "class", "label", "group")
_EXPECTED = "expected lines of word, category or of number, category, word"


@dataclass(frozen=True)
class CategoryWord:
    """A word and its category in the gold standard."""

    word: str  # both as the file writes them
    category: str


@dataclass(frozen=True)
class _Columns:
    """Positions of the needed columns, and the number of columns."""

    word: int
    category: int
    width: int


def read_categories(path: Path) -> list[CategoryWord]:
    """Read words and categories, by a header, else word, category or number, category, word."""
    words, named = _categories(path, read_rows(path, nothing=f"no words; {_EXPECTED}"))
    if not named:
        _refuse_swapped_columns(path, words)
    return words


def looks_like_categories(head: Head) -> bool:
    """Return whether lines name words and categories, each of several words."""
    if not head.is_list or any(line.startswith(":") for line in head.lines):
        return False
    try:
        rows, columns = _with_columns(head.rows)
    except SourceError:
        return False
    fitting = [row.fields for row in rows if len(row.fields) == columns.width]
    words = [(fields[columns.word], fields[columns.category]) for fields in fitting]
    short = [(w, c) for w, c in words if len(w.split()) <= 3 and len(c.split()) <= 3]
    categories = {category for _, category in short}
    plain = not any("/" in category or is_number(category) for category in categories)
    return plain and 10 * len(short) >= 9 * len(rows) and 2 * len(categories) <= len(short)


def read_groups(path: Path) -> list[tuple[str, str | None]]:
    """Read words to draw on a map, each with its group, or None if the file has no groups."""
    if not path.exists() or path.is_dir():  # a pipe is fine
        raise SourceError(f"{path}: no such file of words")
    rows = read_rows(path, nothing="no words; expected one word per line, or word, tab, group")
    if not _has_groups(rows):
        return [(row.text, None) for row in rows]
    return [(word.word, word.category) for word in _categories(path, rows)[0]]


def _has_groups(rows: Sequence[Row]) -> bool:
    """Return whether most lines have several fields; phrases contain spaces, and a few a comma."""
    marks = [delimiter for delimiter in DELIMITERS if delimiter != " "]
    divided = max(sum(len(split(row.text, mark)) > 1 for row in rows) for mark in marks)
    return 2 * divided > len(rows)


def _categories(path: Path, rows: Sequence[Row]) -> tuple[list[CategoryWord], bool]:
    """Parse uncut lines; also return whether a header names the columns."""
    below, columns = _with_columns(rows)
    words = [_category_word(row, columns) for row in below]
    if not words:
        raise SourceError(f"{path}: contains no words below its header; {_EXPECTED}")
    return words, len(below) < len(rows)


def _with_columns(rows: Sequence[Row]) -> tuple[list[Row], _Columns]:
    """Split lines; return those below a header, and the columns."""
    for mark in DELIMITERS:
        ends = [split(row.text, mark) for row in (rows[0], rows[-1])]
        if named := _header_columns(ends):
            return cut_rows(rows, named.width.__eq__)[1:], named
    cut = cut_rows(rows, lambda n_fields: n_fields in (2, 3))
    return cut, _default_columns(cut)


def _header_columns(records: Sequence[Sequence[str]]) -> _Columns | None:
    """Return the columns as a header names them; None if the first line is not a header."""
    names = names_in_header(records)
    word, category = only_column(names, WORD_NAMES), only_column(names, CATEGORY_NAMES)
    return None if word is None or category is None else _Columns(word, category, len(names))


def _default_columns(rows: Sequence[Row]) -> _Columns:
    """Return the columns of a file without a header, from the form of most lines."""
    three = [row.fields for row in rows if len(row.fields) == 3]
    if 2 * len(three) <= len(rows):
        return _Columns(word=0, category=1, width=2)
    if 2 * sum(fields[0].isdecimal() for fields in three) < len(three):
        raise rows[0].wrong(f"does not start a list of words and categories; {_EXPECTED}")
    return _Columns(word=2, category=1, width=3)


def _category_word(row: Row, columns: _Columns) -> CategoryWord:
    """Parse one line."""
    fits = len(row.fields) == columns.width
    if not fits or not row.fields[columns.word] or not row.fields[columns.category]:
        raise row.malformed(
            f"{columns.width} fields separated by {row.between}, with a word and its category"
        )
    return CategoryWord(row.fields[columns.word], row.fields[columns.category])


def _refuse_swapped_columns(path: Path, words: Sequence[CategoryWord]) -> None:
    """Raise if there are as many categories as words: the columns are most likely swapped."""
    categories = len({word.category for word in words})
    if categories > len({word.word for word in words}) or categories == len(words) > 1:
        raise SourceError(
            f"{path}: contains {categories} categories for {len(words)} words; put the word before "
            "its category, or name the columns in a header: category, word"
        )
