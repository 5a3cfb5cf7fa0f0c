"""Detect the form of a file of labeled sentences, and yield its records."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import Row, no_column, read_lines

_LABELS = ("label", "labels", "class", "category", "sentiment")
_TEXTS = ("text", "sentence", "question", "review")
_NAME = re.compile(r"[\w.-]*")  # of a column; a comma-separated sentence would contain a space
_SNIFFED_LINES = 1_000  # enough to detect the form


def labeled_records(path: Path, nothing: str, groups: str = "") -> Iterator[tuple[Row, str, str]]:
    """Yield (line, label, text) of each record, its group as section; ``nothing`` is for errors."""
    every = read_lines(path)
    if not any(row.text.strip() for row in every):
        raise SourceError(f"{path}: contains {nothing}")
    return records_of(path, every, groups)


def records_of(
    path: Path, every: Sequence[Row], groups: str = ""
) -> Iterator[tuple[Row, str, str]]:
    """Yield (line, label, text) for each record of some lines, not all of them blank."""
    filled = [row for row in every if row.text.strip()]
    rows = list(dropwhile(_is_comment, filled)) or filled
    first = rows[0].text
    if first.lstrip().startswith("{"):
        return _json_lines(rows, groups)
    for delimiter in ("\t", ","):
        names = [name.strip().strip('"') for name in first.split(delimiter)]
        if any(_among(_TEXTS, names)) and len(names) > 1 and all(map(_NAME.fullmatch, names)):
            table = _cut(rows) if delimiter == "\t" else _csv(every[rows[0].number - 1 :])
            return _below_header(path, table, names, groups)
    if groups:
        raise no_column(path, groups, ())
    return _two_columns(rows) if "\t" in first else _label_first(rows)


def _is_comment(row: Row) -> bool:
    """Return whether a line is a comment; a line with tabs may be data."""
    return row.text.startswith("# ") and "\t" not in row.text


def _among(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the names that are known, ignoring case."""
    return [name for name in names if name.lower() in known]


def _json_lines(rows: Sequence[Row], groups: str) -> Iterator[tuple[Row, str, str]]:
    """Parse JSON objects with a label and a text."""
    for row in rows:
        record = row.record()
        found = None if record is None else _label_and_text(record)
        if found is None:
            raise row.wrong(
                f"is not a JSON object with one of {', '.join(_LABELS)} and one of "
                f"{', '.join(_TEXTS)}; correct it"
            )
        if groups and groups not in (record or {}):
            raise row.wrong(f"has no {groups!r}, which `groups` names; add it, if only as null")
        group = (record or {}).get(groups)
        yield row._replace(section=None if group is None else str(group)), *found


def _label_and_text(record: dict[str, Any]) -> tuple[str, str] | None:
    """Return the only label, as JSON writes numbers, and the only text of an object, or None."""
    labels, texts = ([record[n] for n in _among(names, record)] for names in (_LABELS, _TEXTS))
    if len(labels) != 1 or len(texts) != 1 or not isinstance(texts[0], str):
        return None
    if isinstance(labels[0], str):
        return labels[0], texts[0]
    return (json.dumps(labels[0]), texts[0]) if isinstance(labels[0], int) else None


def _cut(rows: Sequence[Row]) -> list[Row]:
    """Split rows at tabs; quotation marks are text."""
    return [row._replace(fields=row.text.split("\t")) for row in rows]


def _csv(rows: Sequence[Row]) -> Iterator[Row]:
    """Parse CSV; a record that spans several lines is reported at its first."""
    file = io.StringIO("\n".join(row.text for row in rows), newline="")
    reader = csv.reader(file, skipinitialspace=True, strict=True)
    first = rows[0]
    try:
        for cells in reader:
            if cells:
                yield first._replace(fields=cells)
            first = rows[min(reader.line_num, len(rows) - 1)]
    except csv.Error as error:
        raise first.error(f"is not valid CSV ({error}); correct it") from None


def _below_header(
    path: Path, rows: Iterable[Row], names: Sequence[str], groups: str
) -> Iterator[tuple[Row, str, str]]:
    """Parse the rows below a header."""
    label, text = (_column(path, names, known) for known in (_LABELS, _TEXTS))
    found = [place for place, name in enumerate(names) if name.lower() == groups.lower() != ""]
    if groups and not found:
        raise no_column(path, groups, names)
    for row in islice(rows, 1, None):
        if len(row.fields) != len(names):
            raise row._replace(text=" ".join(row.fields)).wrong(
                f"has {len(row.fields)} columns, but the header names {len(names)}; correct it"
            )
        group = row.fields[found[0]].strip() if found else None
        yield row._replace(section=group), row.fields[label], row.fields[text]


def _column(path: Path, names: Sequence[str], known: Sequence[str]) -> int:
    """Return the position of the only column with a known name."""
    found = _among(known, names)
    if len(found) != 1:
        raise SourceError(
            f"{path}: the header names {', '.join(names)}, {len(found)} of them among "
            f"{', '.join(known)}; name exactly one column so"
        )
    return names.index(found[0])


def _two_columns(rows: Sequence[Row]) -> Iterator[tuple[Row, str, str]]:
    """Parse label and text separated by a tab, in either order."""
    rows = _cut(rows)
    pairs = [row.fields for row in rows[:_SNIFFED_LINES] if len(row.fields) == 2]
    distinct = [len({cells[place] for cells in pairs}) for place in (0, 1)]
    label = int(distinct[1] < distinct[0])
    for row in rows:
        if len(row.fields) != 2:
            raise row.wrong(
                f"has {len(row.fields)} columns, not a label and a sentence separated by a tab; "
                "correct it, or add a header"
            )
        yield row, row.fields[label], row.fields[1 - label]


def _label_first(rows: Sequence[Row]) -> Iterator[tuple[Row, str, str]]:
    """Parse lines of label, white space and sentence."""
    for row in [row for row in rows if not _is_comment(row)] or rows:
        label, _, text = row.text.strip().partition(" ")
        yield row, label, text
