"""Read the lines of evaluation sets, and split them by the delimiter that fits best."""

import codecs
import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.reading.compression import compression_of, decompress
from firth.corpora.reading.decoding import guess_encoding

_NUMBER = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?")
_HEAD = 16  # bytes: enough to recognize a compression format
_MOST_EXPANSION = 100  # times; text has up to 10
_LEAST_ROOM = 4 << 20  # bytes of a decompressed file
_SPACES = " \t\r\v\f"
TEXT_FILES = "**/*.txt"  # the files of a set that is a folder
# of files that are not UTF-8; empty to refuse them, None if no setting names another. A variable,
# since every reader ends here
_FALLBACK: ContextVar[str | None] = ContextVar("fallback encoding of sets", default=None)
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}


@contextmanager
def fallback_encoding(encoding: str) -> Iterator[None]:
    """Read files that are not UTF-8 in another encoding; empty to refuse them."""
    try:
        "a".encode(encoding or "utf-8")  # unlike codecs.lookup, refuses hex and rot13
    except (LookupError, UnicodeError):
        raise SettingError(
            f"`encoding={encoding}` is not a text encoding; try latin-1 or gb18030"
        ) from None
    token = _FALLBACK.set(encoding)
    try:
        yield
    finally:
        _FALLBACK.reset(token)


class Row(NamedTuple):
    """A line of an evaluation set; numbers start at 1 and count comments and blank lines."""

    path: Path
    number: int
    text: str
    fields: Sequence[str] = ()  # stripped; empty until the line is split
    between: str = ""  # name of the delimiter, such as ``tabs``
    section: str | None = None  # name in the last ``: name`` line above, or of its group

    def error(self, what: str) -> SourceError:
        """Return an error that names file and line."""
        return SourceError(f"{self.path}:{self.number}: {what}")

    def wrong(self, what: str) -> SourceError:
        """Return an error that also quotes the line."""
        return self.error(f"{quoted(self.text)} {what}")

    def malformed(self, expected: str) -> SourceError:
        """Return an error for a line that is not of the expected form."""
        return self.wrong(f"is not {expected}; correct it, or start a comment with '#'")

    def score(self, place: int) -> float:
        """Parse a field as a finite number, with a decimal point or comma."""
        field = self.fields[place]
        score = float(field.replace(",", ".")) if is_number(field) else math.inf
        if not math.isfinite(score):
            raise self.error(
                f"{quoted(field)} is not a score; correct it, or start a comment with '#'"
            )
        return score

    def record(self) -> dict[str, Any] | None:
        """Parse the line as a JSON object; None if it is not one."""
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            return None
        return found if isinstance(found, dict) else None


def is_comment(text: str) -> bool:
    """Return whether a line is a comment, which starts with ``#`` or ``//``."""
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
    """Read lines, stripped and without comments; with ``fits`` they are cut into fields."""
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
        raise SourceError(f"{path}: contains {nothing}")
    return rows if fits is None else cut_rows(rows, fits)


def read_lines(path: Path) -> list[Row]:
    """Read all lines unchanged; they end in LF, CRLF or, without any LF, in CR."""
    content = read_bytes(path).replace(b"\r\n", b"\n")
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    rows = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        try:
            rows.append(Row(path, number, raw.decode("utf-8")))
        except UnicodeDecodeError as error:
            guess = guess_encoding(content, content.find(raw) + error.start)
            otherwise = (
                "" if _FALLBACK.get() is None else f", or pass its encoding, such as {guess}"
            )
            raise SourceError(
                f"{path}:{number}: byte 0x{raw[error.start]:02X} is not UTF-8; convert the file to "
                f"UTF-8{otherwise}"
            ) from None
    return rows


def cut_rows(rows: Sequence[Row], fits: Callable[[int], bool]) -> list[Row]:
    """Split rows by the delimiter that gives most rows a fitting number of fields."""
    by_delimiter = {mark: [split(row.text, mark) for row in rows] for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: sum(fits(len(cut)) for cut in by_delimiter[mark]))
    between = DELIMITERS[best]
    return [
        row._replace(fields=fields, between=between)
        for row, fields in zip(rows, by_delimiter[best], strict=True)
    ]


def split(text: str, delimiter: str) -> list[str]:
    """Split a line into stripped fields; quotes are honored with commas and semicolons."""
    if delimiter == " ":
        return text.split() or [text]  # a line of white space that is not in _SPACES
    if delimiter == "\t":
        return [field.strip() for field in re.split(r"\t+", text)]  # tabs may align columns
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:  # longer than csv's limit: one field, so malformed
        return [text]
    return [field.strip() for field in row]


def names_in_header(records: Sequence[Sequence[str]]) -> list[str]:
    """Return the first record as lowercase column names; a missing index name becomes empty."""
    names = [name.lower() for name in records[0]]
    return ["", *names] if len(names) == len(records[-1]) - 1 else names


def only_column(names: Sequence[str], known: Sequence[str]) -> int | None:
    """Return the only column with a known name; None if there is none, or several."""
    found = [place for place, name in enumerate(names) if name in known]
    return found[0] if len(found) == 1 else None


def no_column(path: Path, name: str, names: Iterable[str]) -> SourceError:
    """Return an error for a set without a column of groups."""
    return SourceError(
        f"{path}: has no column {name!r}, which `groups` names; "
        f"its header names {', '.join(names) or 'none'}"
    )


def is_number(field: str) -> bool:
    """Return whether a field is a number; not by float(), which accepts "nan" and "1_000"."""
    return _NUMBER.fullmatch(field) is not None


def files_of(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a set that is a folder, sorted, without hidden ones."""
    files = sorted(
        path
        for path in folder.glob(pattern)
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    if not files:
        raise SourceError(
            f"{folder}: contains no {pattern.strip('*/')} files; expected one for each part of the "
            "set"
        )
    return files


def file_and_column(path: Path) -> tuple[Path, str]:
    """Return the file and the column of a set given as ``FILE:COLUMN``; no column of a file."""
    file, _, column = str(path).rpartition(":")
    return (path, "") if path.exists() or not Path(file).is_file() else (Path(file), column)


def quoted(text: str) -> str:
    """Quote a line for a message, shortened to 60 characters."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def read_bytes(path: Path) -> bytes:
    """Read a whole file, decompressed and without a byte order mark."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise SourceError(f"{path}: is a directory, not a file") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from None
    if kind := compression_of(content[:_HEAD]):
        content = _expanded(content, kind, path)
    return _recoded(as_utf8(content), path)


def _expanded(content: bytes, kind: str, path: Path) -> bytes:
    """Decompress a file; raise if it is far larger than text can be."""
    parts, room = [], max(_LEAST_ROOM, _MOST_EXPANSION * len(content))
    for part in decompress([content], kind, str(path)):
        parts.append(part)
        room -= len(part)
        if room < 0:
            raise SourceError(
                f"{path}: expands to more than {_MOST_EXPANSION} times its size, so it is not an "
                "evaluation set; decompress it if it is one"
            )
    return b"".join(parts)


def as_utf8(content: bytes) -> bytes:
    """Return content without its byte order mark; UTF-16 with one as UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def _recoded(content: bytes, path: Path) -> bytes:
    """Convert a file that is not UTF-8 from the fallback encoding, if there is one."""
    encoding = _FALLBACK.get()
    if not encoding:
        return content
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return content.decode(encoding).encode("utf-8", "surrogatepass")
        except UnicodeError:
            raise SourceError(f"{path}: not `encoding={encoding}`; pass another one") from None
    return content
