"""Read groups of words and their outliers in the forms that the field uses, found by content."""

import ast
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import Line, quoted, read_lines, text_files

_PLAIN = "expected words, a blank line and outliers, one a line"
_GROUP_NAMES = ("words", "group", "cluster")
_OUTLIER_NAMES = ("outliers", "outlier")


@dataclass(frozen=True)
class Topic:
    """Words of one kind, and words that are not of it.

    Attributes
    ----------
    name : str
        The category, or the file's name without its ending.
    group : tuple of str
        Words that belong together, at least two, as the file writes them.
    outliers : tuple of str
        Words that do not, each to be told from the group by itself.
    """

    name: str
    group: tuple[str, ...]
    outliers: tuple[str, ...]


def read_topics(path: Path) -> list[Topic]:
    """Read groups of words and their outliers.

    Parameters
    ----------
    path : Path
        UTF-8 text. Lines of number, category, outliers, group (a header may
        order them otherwise), both lists written as ``['a', 'b']``; or a file,
        or a folder of ``.txt`` files, each one topic: its words one a line, a
        blank line, its outliers (Camacho-Collados & Navigli 2016). Empty words
        are left out.

    Returns
    -------
    list of Topic
        In the order of the file, or of the files' names.

    Raises
    ------
    SourceError
        A file is missing, is no text or holds no topic; or a line is of another
        form: the message quotes it.
    """
    if path.is_dir():
        return [_plain(file, read_lines(file, blank=True)) for file in text_files(path)]
    lines = read_lines(path, blank=True)
    filled = [line for line in lines if line.text]
    if any(mark in line.text for line in filled for mark in ("['", '["')):
        return _table(path, filled)
    return [_plain(path, lines)]


def _plain(path: Path, lines: Sequence[Line]) -> Topic:
    """The only topic of a file."""
    parts: list[list[Line]] = [[]]
    for line in lines:
        if line.text:
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    parts = [part for part in parts if part]
    if len(parts) < 2:
        raise SourceError(f"{path}: holds no outliers below a blank line; {_PLAIN}")
    if len(parts) > 2:
        raise SourceError(
            f"{path}:{parts[2][0].number}: {quoted(parts[2][0].text)} follows a second blank "
            f"line; {_PLAIN}"
        )
    group, outliers = (tuple(line.text for line in part) for part in parts)
    return _topic(str(path), path.stem, group, outliers)


def _table(path: Path, lines: Sequence[Line]) -> list[Topic]:
    """The topics of a file in which each is a line."""
    delimiter = "\t" if any("\t" in line.text for line in lines) else ","
    records = [_fields(path, line, delimiter) for line in lines]
    names = [name.lower() for name in records[0]]
    if len(names) == len(records[-1]) - 1:
        names = ["", *names]  # a tab above the numbers was taken for white space
    group = [place for place, name in enumerate(names) if name in _GROUP_NAMES]
    outliers = [place for place, name in enumerate(names) if name in _OUTLIER_NAMES]
    header = len(group) == 1 and len(outliers) == 1
    places = (group[0], outliers[0]) if header else (3, 2)
    category = names.index("category") if header and "category" in names else 1
    rows = list(zip(lines, records, strict=True))[int(header) :]
    if not rows:
        raise SourceError(f"{path}: holds no topic below its header")
    return [_row(path, line, fields, places, category) for line, fields in rows]


def _fields(path: Path, line: Line, delimiter: str) -> list[str]:
    """The fields of a line; lists stand in quotation marks or between tabs."""
    try:
        return [field.strip() for field in next(csv.reader([line.text], delimiter=delimiter))]
    except csv.Error:
        raise _malformed(path, line) from None


def _row(
    path: Path, line: Line, fields: Sequence[str], places: tuple[int, int], category: int
) -> Topic:
    """One line as a topic, or an error that quotes it."""
    if len(fields) <= max(*places, category):
        raise _malformed(path, line)
    group, outliers = (_words(path, line, fields[place]) for place in places)
    return _topic(f"{path}:{line.number}", fields[category], group, outliers)


def _words(path: Path, line: Line, field: str) -> tuple[str, ...]:
    """A list of words as Python writes it; never evaluated."""
    try:
        words = ast.literal_eval(field)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _malformed(path, line) from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _malformed(path, line)
    return tuple(word.strip() for word in words if word.strip())


def _topic(place: str, name: str, group: Sequence[str], outliers: Sequence[str]) -> Topic:
    """A topic that can be asked about."""
    if len(group) < 2 or not outliers:
        raise SourceError(
            f"{place}: has {len(group)} words and {len(outliers)} outliers; a topic needs at least "
            "two words and an outlier"
        )
    twice = next((word for word in outliers if word in group), None)
    if twice is not None:
        raise SourceError(f"{place}: {twice!r} is in the group and an outlier; take one away")
    return Topic(name, tuple(group), tuple(outliers))


def _malformed(path: Path, line: Line) -> SourceError:
    """What is wrong with a line of a table."""
    return SourceError(
        f"{path}:{line.number}: {quoted(line.text)} is not number, category, ['outlier', ...], "
        "['word', ...]; correct it, or begin a comment with '#'"
    )
