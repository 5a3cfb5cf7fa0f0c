"""A table with a row of fields for each document, and which row is whose."""

import codecs
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import fingerprint
from firth.corpora.common.errors import SourceError, imported
from firth.corpora.reading.in_memory import as_field
from firth.corpora.reading.tables import table_rows
from firth.corpora.reading.text_blocks import TextBlock

_ZIP = b"PK\x03\x04"  # an XLSX file begins with it
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # Excel's "Unicode text" does
_ENDING = re.compile(r"(?:\.[A-Za-z]\w{0,7})?(?:\.(?:gz|bz2|xz|zstd?))?$")
_NAMED = 3  # documents and rows that are named


@dataclass(frozen=True)
class MetadataTable:
    """Columns of text cells."""

    name: str  # for messages
    path: Path | None  # None if it was in memory
    columns: dict[str, list[str]]

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the contents."""
        return fingerprint(list(self.columns.items()))


def read_table(source: Any) -> MetadataTable | None:
    """Read a table from a path or a data frame."""
    if source is None:
        return None
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    name = f"<{type(source).__name__}>" if path is None else str(path)
    if path is not None:
        rows = _file_rows(path)
    elif hasattr(source, "columns"):
        rows = [source.columns, *zip(*(source[each] for each in source.columns), strict=True)]
    else:
        raise SourceError(f"{name}: `metadata` is a path or a data frame")
    header, *cells = [list(map(_as_text, row)) for row in rows] or [[]]
    cells = [row for row in cells if any(row)]
    if not cells:
        raise SourceError(f"{name}: has no rows; expected a line of names, then a row per document")
    columns = {column: [row[at] for row in cells] for at, column in enumerate(header) if column}
    for column in columns:
        if header.count(column) > 1 or {",", "="} & {*column}:
            problem = "twice" if header.count(column) > 1 else "with a comma or ="
            raise SourceError(f"{name}: has a column {column!r} {problem}; rename it")
    return MetadataTable(name, path, columns)


def _file_rows(path: Path) -> Iterable[Sequence[Any]]:
    """Return the rows of a file: XLSX, or CSV or TSV in UTF-8 or UTF-16."""
    try:
        data = path.read_bytes()
        if data.startswith(_ZIP):
            return _sheet_rows(path)
        text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(f"{path}: {reason}; correct the path of `metadata`") from None
    except UnicodeDecodeError as error:
        line, byte = data.count(b"\n", 0, error.start) + 1, data[error.start]
        raise SourceError(
            f"{path}:{line}: byte 0x{byte:02X} is not UTF-8; save it as UTF-8"
        ) from None
    return table_rows(text.replace("\r\n", "\n").replace("\r", "\n"), str(path))


def _sheet_rows(path: Path) -> list[Sequence[Any]]:
    """Return the rows of the first sheet of an XLSX file."""
    needs = f"{path}: XLSX needs the package openpyxl; pip install 'firth[xlsx]', or save it as CSV"
    openpyxl = imported("openpyxl", SourceError(needs))
    try:
        with open(path, "rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            return list(book.worksheets[0].iter_rows(values_only=True))
    except Exception as error:  # noqa: BLE001 - of many kinds, for a damaged file or another ZIP
        raise SourceError(f"{path}: not a readable XLSX file ({error}); save it as CSV") from None


def _as_text(cell: Any) -> str:
    """Return a cell as text, in one line."""
    return " ".join(as_field(cell).split())


class MetadataJoin:
    """Gives documents the cells of their rows, block by block.

    A row belongs to the documents of the file that it names, or to the document with the same
    value of a field, or to the document of its number.
    """

    def __init__(self, table: MetadataTable, sources: Sequence[str]) -> None:
        self._table = table
        self._sources = sources
        self._by, self._row_of = _rows_of_files(table, sources)  # the column; row of a key
        self._field: str | None = None  # of the documents, with the key; None for their files
        self._n_documents = 0
        self._without: list[str] = []  # keys of documents without a row
        self._used: set[int] = set()

    def fields(self, block: TextBlock) -> dict[str, list[str]]:
        """Return the fields of the documents of the next block, with those of their rows."""
        first, n = int(block.continues), len(block.positions)  # 1 if it begins within a document
        if self._by is None and not self._n_documents:
            self._by, self._row_of = _rows_of_values(self._table, block.fields)
            self._field = self._by
        start = self._n_documents - first
        self._n_documents += n - first
        rows = list(range(start, start + n))
        if self._by is not None:
            keys = [block.source] * n
            if self._field is not None:
                keys = block.fields.get(self._field, [""] * n)
            rows = [self._row_of.get(key, -1) for key in keys]
            self._without += [keys[each] for each in range(first, n) if rows[each] < 0]
        self._used.update(rows)
        joined = dict(block.fields)
        for name, cells in self._table.columns.items():
            own = zip(rows, joined.get(name, [""] * n), strict=True)
            joined[name] = [cells[at] if 0 <= at < len(cells) else value for at, value in own]
        return joined

    def record(self) -> dict[str, Any]:
        """Return what the manifest says; raise if rows in order are not as many as documents."""
        n, labels = self._n_documents, next(iter(self._table.columns.values()))
        if self._by is not None:
            labels = self._table.columns[self._by]
        elif n != len(labels):
            raise SourceError(
                f"{self._table.name}: no column has the names of the files, such as "
                f"{_base(self._sources[0])!r}, or values of a kept field, and its {len(labels):,} "
                f"rows do not fit {n:,} document{'s' * (n != 1)} in order; correct the table, or "
                "see `documents` and `keep`"
            )
        unused = [label for row, label in enumerate(labels) if row not in self._used]
        return {
            "table": self._table.name,
            "by": self._by,
            "documents_without": len(self._without),
            "documents_named": self._without[:_NAMED],
            "rows_without": len(unused),
            "rows_named": unused[:_NAMED],
        }


def _rows_of_files(
    table: MetadataTable, sources: Sequence[str]
) -> tuple[str | None, dict[str, int]]:
    """Return the column that names most of the files, and the row of each file it names.

    Names may lack folders, or have others, and their endings; the fullest that fits decides.
    """
    best: dict[str, int] = {}
    by = None
    for column, cells in table.columns.items():
        names = [_plain_name(cell) for cell in cells]
        found: dict[str, int] = {}
        for spell in (str, _stem, _base, lambda name: _stem(_base(name))):
            left = {*range(len(names))} - {*found.values()}
            times = Counter(spell(names[row]) for row in left)
            row_of = {key: row for row in left if times[key := spell(names[row])] == 1}
            found |= {
                source: next(row_of[key] for key in _spellings(source) if key in row_of)
                for source in sources
                if source not in found and not row_of.keys().isdisjoint(_spellings(source))
            }
        if len(found) > len(best):
            best, by = found, column
    if by is None:
        return None, {}
    times = Counter(map(_plain_name, table.columns[by]))
    files = {row: source for source, row in best.items()}
    for source in sources:
        twice = next((key for key in _spellings(source) if times[key] > 1), None)
        if twice is not None:
            raise SourceError(f"{table.name}: the column {by!r} has {twice} twice; keep one row")
        if (other := files.get(best.get(source, -1), source)) != source:
            raise SourceError(
                f"{table.name}: {table.columns[by][best[source]]!r} in the column {by!r} names "
                f"{source} and {other}; write it with the folder or the ending"
            )
    return by, best


def _rows_of_values(
    table: MetadataTable, fields: dict[str, list[str]]
) -> tuple[str | None, dict[str, int]]:
    """Return the column, of those without equal cells, that has most values of a kept field."""
    best, by, row_of = 0, None, {}
    for column, cells in table.columns.items():
        rows = {cell: row for row, cell in enumerate(cells) if cell}
        n_found = sum(value in rows for value in fields.get(column, ()))
        if n_found > best and len({*cells}) == len(cells):
            best, by, row_of = n_found, column, rows
    return by, row_of


def _plain_name(path: str) -> str:
    """Return a path in one spelling of letters and folders."""
    return unicodedata.normalize("NFC", path.strip()).replace("\\", "/").removeprefix("./")


def _stem(name: str) -> str:
    """Return a name without its endings."""
    return _ENDING.sub("", name, count=1)


def _base(name: str) -> str:
    """Return a name without its folders."""
    return name.rpartition("/")[2]


def _spellings(path: str) -> Iterator[str]:
    """Yield the names of a file that a table may have, those with most folders first."""
    parts = _plain_name(path).split("/")
    for first in range(len(parts)):
        name = "/".join(parts[first:])
        yield name
        yield _stem(name)
