"""Lines and fields of evaluation sets: comments and line ends aside, the delimiter by content."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from corpora.reading.compression import compression_of, decompress

_HEAD = 16  # bytes that tell how a file is compressed
COMMENTS = ("#", "//")  # what begins one
TEXT_FILES = "**/*.txt"  # of a folder
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}


@dataclass(frozen=True)
class Line:
    """A line of an evaluation set.

    Attributes
    ----------
    number : int
        Counted from 1, comments and blank lines included.
    text : str
        The line without white space around it.
    """

    number: int
    text: str


def read_lines(path: Path, *, blank: bool = False) -> list[Line]:
    """Read the lines that say something: neither blank nor a ``#`` or ``//`` comment.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte order mark, LF or CRLF; perhaps compressed by gzip, bzip2,
        xz or zstd.
    blank : bool
        Whether blank lines say something, too.

    Returns
    -------
    list of Line
        In the order of the file.

    Raises
    ------
    SourceError
        The file is missing, cannot be read or decompressed, or a line is not UTF-8.
    """
    lines = every_line(path)
    return [line for line in lines if (line.text or blank) and not line.text.startswith(COMMENTS)]


def every_line(path: Path) -> Iterator[Line]:
    """Read all lines, blank ones and comments too, without white space at their ends.

    Parameters
    ----------
    path : Path
        As :func:`read_lines` takes it.

    Yields
    ------
    Line
        In the order of the file.

    Raises
    ------
    SourceError
        As :func:`read_lines` does.
    """
    for number, text in decoded_lines(path):
        yield Line(number, text.strip(" \t\r\v\f"))


def decoded_lines(path: Path, what: str = "the evaluation set") -> Iterator[tuple[int, str]]:
    """Read all lines as they stand.

    Parameters
    ----------
    path : Path
        As :func:`read_lines` takes it.
    what : str
        What a message says is to be converted.

    Yields
    ------
    int
        The number of a line, from 1.
    str
        Its text, with all but the line feed at its end.

    Raises
    ------
    SourceError
        As :func:`read_lines` does.
    """
    for number, raw in enumerate(read_bytes(path).split(b"\n"), start=1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{path}:{number}: byte 0x{raw[error.start]:02X} is not UTF-8; "
                f"convert {what} to UTF-8"
            ) from None
        yield number, text


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


def find_delimiter(lines: Sequence[Line], fits: Callable[[int], bool]) -> str:
    """Find the delimiter by which the most lines have a fitting number of fields.

    Parameters
    ----------
    lines : sequence of Line
        The lines of one set.
    fits : callable
        Tells whether a number of fields is as it should be.

    Returns
    -------
    str
        A key of DELIMITERS; of equals the one that is least likely inside a field.
    """

    def fitting(delimiter: str) -> int:
        return sum(fits(len(split(line.text, delimiter))) for line in lines)

    return max(DELIMITERS, key=fitting)


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
        return text.split()
    if delimiter == "\t":
        return [field.strip() for field in re.split(r"\t+", text)]  # tabs may align columns
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:  # a line beyond csv's limit is one field, hence malformed
        return [text]
    return [field.strip() for field in row]


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
