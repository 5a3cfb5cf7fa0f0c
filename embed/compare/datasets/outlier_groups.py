"""Read groups of words with outliers; the form of a file is detected from its content."""

import ast
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import (
    TEXT_FILES,
    Row,
    files_of,
    names_in_header,
    only_column,
    read_rows,
)
from firth.embed.compare.datasets.head import Head

_PLAIN = "expected words, a blank line and outliers, one per line"
_LISTS = "number, category, ['outlier', ...], ['word', ...]"
_GROUP_NAMES = ("words", "group", "cluster")
_OUTLIER_NAMES = ("outliers", "outlier")


@dataclass(frozen=True)
class Topic:
    """Words of one category, and outliers that do not belong to it."""

    name: str  # the category, or the file name without its ending
    group: tuple[str, ...]  # at least two words, as the file writes them
    outliers: tuple[str, ...]  # at least one; each makes an item of its own


def read_topics(path: Path) -> list[Topic]:
    """Read a file, or a folder with one topic per text file."""
    if path.is_dir():
        return [_plain(file, read_rows(file, blank=True)) for file in files_of(path, TEXT_FILES)]
    rows = read_rows(path, blank=True)
    filled = [row for row in rows if row.text]
    if any(mark in row.text for row in filled for mark in ("['", '["')):
        return _table(path, filled)
    return [_plain(path, rows)]


def looks_like_topic(head: Head) -> bool:
    """Return whether lines are words of one topic, a blank line and its outliers."""
    groups = [list(part) for filled, part in groupby(head.lines, key=bool) if filled]
    short = all(len(line.split()) <= 3 and "\t" not in line for line in head.lines)
    return len(groups) == 2 and short and len(groups[0]) > 1


def _plain(path: Path, rows: Sequence[Row]) -> Topic:
    """Parse the only topic of a plain file."""
    between_blanks = groupby(rows, key=lambda row: bool(row.text))
    parts = [list(part) for filled, part in between_blanks if filled]
    if len(parts) < 2:
        raise SourceError(f"{path}: contains no outliers below a blank line; {_PLAIN}")
    if len(parts) > 2:
        raise parts[2][0].wrong(f"follows a second blank line; {_PLAIN}")
    group, outliers = (tuple(row.text for row in part) for part in parts)
    return _topic(str(path), path.stem, group, outliers)


def _table(path: Path, rows: Sequence[Row]) -> list[Topic]:
    """Parse a file with one topic per line."""
    delimiter = "\t" if any("\t" in row.text for row in rows) else ","
    rows = [row._replace(fields=_fields(row, delimiter)) for row in rows]
    names = names_in_header([row.fields for row in rows])
    group, outliers = only_column(names, _GROUP_NAMES), only_column(names, _OUTLIER_NAMES)
    if group is None or outliers is None:
        return [_of_row(row, (3, 2), 1) for row in rows]
    if not rows[1:]:
        raise SourceError(f"{path}: contains no topics below its header")
    category = names.index("category") if "category" in names else 1
    return [_of_row(row, (group, outliers), category) for row in rows[1:]]


def _fields(row: Row, delimiter: str) -> list[str]:
    """Split a line into fields; lists are quoted or tab-separated."""
    try:
        return [field.strip() for field in next(csv.reader([row.text], delimiter=delimiter))]
    except csv.Error:
        raise row.malformed(_LISTS) from None


def _of_row(row: Row, places: tuple[int, int], category: int) -> Topic:
    """Parse one line."""
    if len(row.fields) <= max(*places, category):
        raise row.malformed(_LISTS)
    group, outliers = (_words(row, row.fields[place]) for place in places)
    return _topic(f"{row.path}:{row.number}", row.fields[category], group, outliers)


def _words(row: Row, field: str) -> tuple[str, ...]:
    """Parse a list of words written as a Python literal; nothing is evaluated."""
    try:
        words = ast.literal_eval(field)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise row.malformed(_LISTS) from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise row.malformed(_LISTS)
    return tuple(word.strip() for word in words if word.strip())


def _topic(place: str, name: str, group: Sequence[str], outliers: Sequence[str]) -> Topic:
    """Return a topic, or raise if it is too small or a word is on both sides."""
    if len(group) < 2 or not outliers:
        raise SourceError(
            f"{place}: has {len(group)} words and {len(outliers)} outliers; a topic needs at least "
            "two words and one outlier"
        )
    twice = next((word for word in outliers if word in group), None)
    if twice is not None:
        raise SourceError(f"{place}: {twice!r} is both in the group and an outlier; remove one")
    return Topic(name, tuple(group), tuple(outliers))
