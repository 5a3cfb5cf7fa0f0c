"""Rows of evaluation sets: comments and line ends aside, fields cut by the delimiter that fits."""

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpora.common.errors import SourceError
from corpora.reading.compression import compression_of, decompress

_HEAD = 16  # bytes that tell how a file is compressed
_SPACES = " \t\r\v\f"
TEXT_FILES = "**/*.txt"  # of a folder
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}


class Row(NamedTuple):
    """A line of an evaluation set, numbered from 1, comments and blank lines included."""

    path: Path
    number: int
    text: str
    fields: Sequence[str] = ()  # without white space around them; none where it is not cut
    between: str = ""  # what delimits them, in a word
    section: str | None = None  # the last ``: name`` line above it

    def error(self, what: str) -> SourceError:
        """Make an error about a part of the line."""
        return SourceError(f"{self.path}:{self.number}: {what}")

    def wrong(self, what: str) -> SourceError:
        """Make an error that quotes the line."""
        return self.error(f"{quoted(self.text)} {what}")

    def malformed(self, expected: str) -> SourceError:
        """Make an error about a line that is not what every line is to be."""
        return self.wrong(f"is not {expected}; correct it, or begin a comment with '#'")

    def record(self) -> dict[str, Any] | None:
        """Read the line as a JSON object; None where it is none."""
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):  # no JSON, or nested beyond any record
            return None
        return found if isinstance(found, dict) else None


def is_comment(text: str) -> bool:
    """Tell a comment by how it begins."""
    return text.startswith(("#", "//"))


def read_rows(
    path: Path,
    fits: Callable[[int], bool] | None = None,
    *,
    nothing: str | None = None,
    comment: Callable[[str], bool] = is_comment,
    blank: bool = False,
    sections: bool = False,
) -> list[Row]:
    """Read the lines that say something, without white space around them."""
    rows: list[Row] = []
    section = None
    for line in read_lines(path):
        text = line.text.strip(_SPACES)
        if comment(text) or not (text or blank):
            continue
        if sections and text.startswith(":"):
            section = text[1:].strip()
        else:
            rows.append(line._replace(text=text, section=section))
    if not rows and nothing is not None:
        raise SourceError(f"{path}: holds {nothing}")
    return rows if fits is None else cut_rows(rows, fits)


def read_lines(path: Path) -> list[Row]:
    """Read all lines as they stand, blank ones and comments too."""
    content = read_bytes(path).replace(b"\r\n", b"\n")
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    rows = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        try:
            rows.append(Row(path, number, raw.decode("utf-8")))
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{path}:{number}: byte 0x{raw[error.start]:02X} is not UTF-8; "
                "convert the evaluation set to UTF-8"
            ) from None
    return rows


def cut_rows(rows: Sequence[Row], fits: Callable[[int], bool]) -> list[Row]:
    """Cut rows into fields, by the delimiter by which the most have a fitting number of them."""
    by_delimiter = {mark: [split(row.text, mark) for row in rows] for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: sum(fits(len(cut)) for cut in by_delimiter[mark]))
    between = DELIMITERS[best]
    return [
        row._replace(fields=fields, between=between)
        for row, fields in zip(rows, by_delimiter[best], strict=True)
    ]


def split(text: str, delimiter: str) -> list[str]:
    """Cut a line into fields."""
    if delimiter == " ":
        return text.split() or [text]  # a line of other white space than is stripped
    if delimiter == "\t":
        return [field.strip() for field in re.split(r"\t+", text)]  # tabs may align columns
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:  # a line beyond csv's limit is one field, hence malformed
        return [text]
    return [field.strip() for field in row]


def names_in_header(records: Sequence[Sequence[str]]) -> list[str]:
    """Read the first line as names of columns."""
    names = [name.lower() for name in records[0]]
    return ["", *names] if len(names) == len(records[-1]) - 1 else names


def only_column(names: Sequence[str], known: Sequence[str]) -> int | None:
    """Find the one column that has a known name."""
    found = [place for place, name in enumerate(names) if name in known]
    return found[0] if len(found) == 1 else None


def text_files(folder: Path) -> list[Path]:
    """List the files of a set that is a folder: each is a section or a topic."""
    files = sorted(
        path
        for path in folder.glob(TEXT_FILES)
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    if not files:
        raise SourceError(f"{folder}: holds no .txt file; expected one for each part of the set")
    return files


def quoted(text: str) -> str:
    """Quote a line for a message."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def read_bytes(path: Path) -> bytes:
    """Read all of a file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"{path}: no such evaluation set") from None
    except IsADirectoryError:
        raise SourceError(f"{path}: is a directory, not an evaluation set") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from None
    if kind := compression_of(content[:_HEAD]):
        content = b"".join(decompress([content], kind, str(path)))
    return content.removeprefix(b"\xef\xbb\xbf")
