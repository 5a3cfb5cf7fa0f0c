"""The first lines of an evaluation set, by which its kind is recognized."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import chain
from pathlib import Path

from firth.corpora.common.errors import FirthError
from firth.corpora.reading.compression import compression_of, decompress
from firth.embed.compare.datasets.fields import (
    DELIMITERS,
    Row,
    as_utf8,
    file_and_column,
    is_comment,
    split,
)

_BYTES = 1 << 18
_LONGEST = 3  # words in a field that is a word or a name rather than a sentence


class Match(IntEnum):
    """Whether a file looks like a set of a task."""

    NO = 0
    LIKELY = 1  # by the number and kind of its fields, which other files may have
    CERTAIN = 2  # by names or marks that only such sets have


@dataclass(frozen=True)
class Head:
    """The first lines of a file, the last of several, or the names in a folder."""

    path: Path  # of the file or folder
    n_files: int  # as given, joined by commas
    text: str  # empty for a folder
    names: tuple[str, ...] = ()  # of the files in a folder, with their folders

    @classmethod
    def of(cls, named: str) -> "Head":
        """Read the first lines; nothing of a file that is missing, damaged or not text."""
        files = [named] if Path(named).exists() else named.split(",")
        path, _ = file_and_column(Path(files[-1].strip()))
        if path.is_dir():
            names = (str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
            return cls(path, len(files), "", tuple(sorted(names)))
        content = as_utf8(_first_bytes(path))
        text = "" if b"\0" in content else content.decode(errors="replace")
        whole_lines = text if len(content) < _BYTES else text.rpartition("\n")[0]
        return cls(path, len(files), whole_lines)

    @cached_property
    def lines(self) -> list[str]:
        """The lines, stripped."""
        return [line.strip() for line in self.text.splitlines()]

    @cached_property
    def rows(self) -> list[Row]:
        """The lines with something to read: no comments, no names of sections."""
        return [
            Row(self.path, number, line)
            for number, line in enumerate(self.lines, start=1)
            if line and not is_comment(line) and not line.startswith(":")
        ]

    @property
    def is_list(self) -> bool:
        """Whether there is one record a line, without blank lines between sentences or groups."""
        return (
            bool(self.rows) and self.n_files == 1 and 20 * self.lines.count("") <= len(self.lines)
        )

    def records(self, n_fields: int) -> list[list[str]]:
        """Return the fields of each line if nearly all lines have so many short ones."""
        for mark in DELIMITERS:
            cut = [fields for row in self.rows if len(fields := split(row.text, mark)) == n_fields]
            short = [r for r in cut if all(0 < len(each.split()) <= _LONGEST for each in r)]
            if self.is_list and 10 * len(short) >= 9 * len(self.rows):
                return short
        return []


def _first_bytes(path: Path) -> bytes:
    """Return the start of a file, decompressed; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES)
            kind = compression_of(content[:16])
            if kind is None:
                return content
            found = b""
            blocks = chain([content], iter(lambda: file.read(_BYTES), b""))
            for block in decompress(blocks, kind, str(path)):
                found += block
                if len(found) >= _BYTES:
                    break
            return found[:_BYTES]
    except (OSError, FirthError):
        return b""
