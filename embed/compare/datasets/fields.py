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
        """Make an error about a part of the line.

        Parameters
        ----------
        what : str
            Comes after the line's place.

        Returns
        -------
        SourceError
            To be raised.
        """
        return SourceError(f"{self.path}:{self.number}: {what}")

    def wrong(self, what: str) -> SourceError:
        """Make an error that quotes the line.

        Parameters
        ----------
        what : str
            Comes after the line.

        Returns
        -------
        SourceError
            To be raised.
        """
        return self.error(f"{quoted(self.text)} {what}")

    def malformed(self, expected: str) -> SourceError:
        """Make an error about a line that is not what every line is to be.

        Parameters
        ----------
        expected : str
            What that is.

        Returns
        -------
        SourceError
            To be raised.
        """
        return self.wrong(f"is not {expected}; correct it, or begin a comment with '#'")

    def record(self) -> dict[str, Any] | None:
        """Read the line as a JSON object; None where it is none."""
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):  # no JSON, or nested beyond any record
            return None
        return found if isinstance(found, dict) else None


def is_comment(text: str) -> bool:
    """Tell a comment by how it begins.

    Parameters
    ----------
    text : str
        A line without white space around it.

    Returns
    -------
    bool
        Whether it begins with ``#`` or ``//``.
    """
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
    """Read the lines that say something, without white space around them.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte order mark, with any line ends; perhaps compressed by gzip,
        bzip2, xz or zstd.
    fits : callable, optional
        Tells whether a line may have so many fields: lines are then cut, as :func:`cut_rows` does.
    nothing : str, optional
        What a file without rows does not hold, and what was expected; without it, it may be empty.
    comment : callable
        Tells which lines are left out.
    blank : bool
        Whether blank lines say something, too.
    sections : bool
        Whether lines that begin with ``:`` name the section of those below them.

    Returns
    -------
    list of Row
        In the order of the file.

    Raises
    ------
    SourceError
        The file is missing, cannot be read or decompressed, holds nothing, or a line is not UTF-8.
    """
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
    """Read all lines as they stand, blank ones and comments too.

    Parameters
    ----------
    path : Path
        As :func:`read_rows` takes it.

    Returns
    -------
    list of Row
        Of which none is cut.

    Raises
    ------
    SourceError
        The file is missing, cannot be read or decompressed, or a line is not UTF-8.
    """
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
    """Cut rows into fields, by the delimiter by which the most have a fitting number of them.

    Parameters
    ----------
    rows : sequence of Row
        Of one set.
    fits : callable
        Tells whether a number of fields is as it should be.

    Returns
    -------
    list of Row
        With their fields; of equal delimiters by the one that is least likely inside a field.
    """
    by_delimiter = {mark: [split(row.text, mark) for row in rows] for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: sum(fits(len(cut)) for cut in by_delimiter[mark]))
    between = DELIMITERS[best]
    return [
        row._replace(fields=fields, between=between)
        for row, fields in zip(rows, by_delimiter[best], strict=True)
    ]


def split(text: str, delimiter: str) -> list[str]:
    """Cut a line into fields.

    Parameters
    ----------
    text : str
        One line. Fields between commas or semicolons may be quoted.
    delimiter : str
        A key of DELIMITERS; a space stands for any white space.

    Returns
    -------
    list of str
        Without white space around them.
    """
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
    """Read the first line as names of columns.

    Parameters
    ----------
    records : sequence of sequences of str
        The fields of each line; the last one has all columns.

    Returns
    -------
    list of str
        In lower case; an empty one ahead where there is one less than there are columns, since a
        tab above a column of numbers was taken for white space.
    """
    names = [name.lower() for name in records[0]]
    return ["", *names] if len(names) == len(records[-1]) - 1 else names


def only_column(names: Sequence[str], known: Sequence[str]) -> int | None:
    """Find the one column that has a known name.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    known : sequence of str
        What it may be called.

    Returns
    -------
    int or None
        Its place; None where there is none, or several.
    """
    found = [place for place, name in enumerate(names) if name in known]
    return found[0] if len(found) == 1 else None


def text_files(folder: Path) -> list[Path]:
    """List the files of a set that is a folder: each is a section or a topic.

    Parameters
    ----------
    folder : Path
        With ``.txt`` files, or folders of such.

    Returns
    -------
    list of Path
        By name, hidden ones left out.

    Raises
    ------
    SourceError
        There is none.
    """
    files = sorted(
        path
        for path in folder.glob(TEXT_FILES)
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    if not files:
        raise SourceError(f"{folder}: holds no .txt file; expected one for each part of the set")
    return files


def quoted(text: str) -> str:
    """Quote a line for a message.

    Parameters
    ----------
    text : str
        Any length.

    Returns
    -------
    str
        At most 60 characters of it, in quotation marks.
    """
    return repr(text if len(text) <= 60 else text[:59] + "…")


def read_bytes(path: Path) -> bytes:
    """Read all of a file.

    Parameters
    ----------
    path : Path
        Perhaps compressed.

    Returns
    -------
    bytes
        Decompressed, a byte order mark removed.

    Raises
    ------
    SourceError
        The file is missing, or cannot be read or decompressed.
    """
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
