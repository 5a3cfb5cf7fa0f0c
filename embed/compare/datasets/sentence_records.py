"""The forms in which files hold labelled sentences, each found by content: records of a file."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import Line, quoted

_LABELS = ("label", "labels", "class", "category", "sentiment")
_TEXTS = ("text", "sentence", "question", "review")
_NAME = re.compile(r"[\w.-]*")  # of a column; in a sentence between commas there is a space
_ENOUGH = 1_000  # lines that tell the form


def labelled_records(
    path: Path, content: str, lines: Sequence[Line]
) -> Iterator[tuple[int, str, str]]:
    """Find the form of a file, and read its records.

    Parameters
    ----------
    path : Path
        To name in messages.
    content : str
        All of the file, with LF line ends.
    lines : sequence of Line
        Of these, all that are not blank; at least one.

    Returns
    -------
    iterator of (int, str, str)
        The number of the first line, the label and the text of each sentence, as they stand there.

    Raises
    ------
    SourceError
        A record is malformed, or a first line names no column of labels or several of texts.
    """
    lines = list(dropwhile(_is_comment, lines)) or lines
    first = lines[0].text
    if first.lstrip().startswith("{"):
        return _json_lines(path, lines)
    for delimiter in ("\t", ","):
        names = [name.strip().strip('"') for name in first.split(delimiter)]
        if any(_among(_TEXTS, names)) and len(names) > 1 and all(map(_NAME.fullmatch, names)):
            return _named(path, _rows(path, content, lines, delimiter), names)
    if "\t" in first:
        return _two_columns(path, lines)
    return _label_first(lines)


def _is_comment(line: Line) -> bool:
    """Whether a line is neither a label nor a sentence; a column may begin as comments do."""
    return line.text.startswith("# ") and "\t" not in line.text


def _among(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """Those names that are known, in any case."""
    return [name for name in names if name.lower() in known]


def _json_lines(path: Path, lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """Objects with a label and a text."""
    for line in lines:
        try:
            record = json.loads(line.text)
        except (ValueError, RecursionError):  # no JSON, or nested beyond any record
            record = None
        found = _label_and_text(record) if isinstance(record, dict) else None
        if found is None:
            raise SourceError(
                f"{path}:{line.number}: {quoted(line.text)} is no object with one of "
                f"{', '.join(_LABELS)} and one of {', '.join(_TEXTS)}; correct it"
            )
        yield line.number, *found


def _label_and_text(record: dict[str, Any]) -> tuple[str, str] | None:
    """Both of an object, a number or truth as JSON writes it; None where it has not one each."""
    labels, texts = ([record[n] for n in _among(names, record)] for names in (_LABELS, _TEXTS))
    if len(labels) != 1 or len(texts) != 1 or not isinstance(texts[0], str):
        return None
    if isinstance(labels[0], str):
        return labels[0], texts[0]
    return (json.dumps(labels[0]), texts[0]) if isinstance(labels[0], int) else None


def _rows(
    path: Path, content: str, lines: Sequence[Line], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line, and cells, of each row; between tabs quotation marks are text."""
    if delimiter == "\t":
        yield from ((line.number, line.text.split("\t")) for line in lines)
        return
    above = lines[0].number - 1  # comments and empty lines
    file = io.StringIO(content.split("\n", above)[above], newline="")
    reader = csv.reader(file, skipinitialspace=True, strict=True)
    number = above + 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = above + reader.line_num + 1
    except csv.Error as error:
        raise SourceError(f"{path}:{number}: is no CSV ({error}); correct it") from None


def _named(
    path: Path, rows: Iterator[tuple[int, list[str]]], names: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Rows below a header."""
    label, text = (_column(path, names, known) for known in (_LABELS, _TEXTS))
    for number, cells in islice(rows, 1, None):
        if len(cells) != len(names):
            raise SourceError(
                f"{path}:{number}: {quoted(' '.join(cells))} has {len(cells)} columns where the "
                f"first line names {len(names)}; correct it"
            )
        yield number, cells[label], cells[text]


def _column(path: Path, names: Sequence[str], known: Sequence[str]) -> int:
    """The place of the one column with a known name."""
    found = _among(known, names)
    if len(found) != 1:
        raise SourceError(
            f"{path}: its first line names {', '.join(names)}, of which {len(found)} are among "
            f"{', '.join(known)}; name one column so"
        )
    return names.index(found[0])


def _two_columns(path: Path, lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """Label and text between tabs, in either order."""
    head = [line.text.split("\t") for line in lines[:_ENOUGH]]
    distinct = [len({cells[place] for cells in head if len(cells) == 2}) for place in (0, 1)]
    label = int(distinct[1] < distinct[0])
    for line in lines:
        cells = line.text.split("\t")
        if len(cells) != 2:
            raise SourceError(
                f"{path}:{line.number}: {quoted(line.text)} has {len(cells)} columns, not a label "
                "and a sentence with a tab between; correct it, or name the columns in a first line"
            )
        yield line.number, cells[label], cells[1 - label]


def _label_first(lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """A label, white space, a sentence."""
    for line in [line for line in lines if not _is_comment(line)] or lines:
        label, _, text = line.text.strip().partition(" ")
        yield line.number, label, text
