"""CSV and TSV: each row is a document, and the first row names the columns."""

import csv
import io
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.decoding import checked_utf8
from firth.corpora.reading.detect import HEAD_BYTES, detect_wrapping, sample_of
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import BlockLimit, after_line_end, cut_blocks
from firth.corpora.reading.records import choose_columns, records_block
from firth.corpora.reading.sources import Stream, peek
from firth.corpora.reading.text_blocks import RawBlock, ReadOptions, TextBlock

_DELIMITERS = ",;|\t"


class RowBuffer:
    """Collects rows for one block; ``size`` counts characters of text."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._clear()

    def _clear(self) -> None:
        """Remove all rows."""
        self.texts: list[str | None] = []
        self.positions: list[int] = []
        self.kept: dict[str, list[str]] = {field: [] for field in self._options.keep}
        self.size = 0

    def add(self, text: str | None, position: int, kept: dict[str, str]) -> None:
        """Add a row with its line or record number and its kept fields."""
        self.texts.append(text)
        self.positions.append(position)
        self.size += len(text or "")
        for field, value in kept.items():
            self.kept[field].append(value)

    def take_block(self, stream: Stream) -> RawBlock:
        """Remove all rows and return them as a block; the first ones show if texts are wrapped."""
        if self._options.wrapped is None:
            self._options = detect_wrapping(
                self._options, sample_of(filter(None, self.texts)), stream.found
            )
        data = (self.texts, self.positions, self.kept)
        first = self.positions[0] if self.positions else 1
        self._clear()
        return RawBlock(data, stream.name, first, self._options, parse_rows)


def parse_rows(raw: RawBlock) -> TextBlock:
    """Parse a block of rows that the reader has already split."""
    texts, positions, kept = raw.data
    return records_block(raw, texts, positions, kept, dict(raw.counts))


def csv_blocks(
    stream: Stream,
    chunks: Iterator[bytes],
    options: ReadOptions,
    block_bytes: int,
    delimiters: str = _DELIMITERS,
) -> Iterator[RawBlock]:
    """Split CSV into rows while cutting, since quotes can be paired only from the start."""
    csv.field_size_limit(int(min(stream.limit.most, 2**31 - 1)))
    lines = _csv_lines(stream, chunks, options, block_bytes)
    header = next(lines, "")
    delimiter = max(delimiters, key=header.count)
    reader = csv.reader(itertools.chain((header,), lines), delimiter=delimiter, strict=True)
    table = _csv_rows(reader, stream.limit)
    _, names = next(table, (1, []))
    text, kept = choose_columns(names, options, stream.name)
    rows = RowBuffer(options)
    for line, row in table:
        _check_width(row, names, f"{stream.name}:{line}")
        rows.add(row[text], line, {field: row[index] for field, index in kept.items()})
        if rows.size >= block_bytes:
            yield rows.take_block(stream)
    yield rows.take_block(stream)


def tsv_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut TSV at line ends, which cells cannot contain, or read it as CSV if quoted cells do."""
    head, chunks = peek(chunks, HEAD_BYTES)
    if _has_quoted_line_ends(head[:HEAD_BYTES].decode("utf-8", "replace")):
        yield from csv_blocks(stream, chunks, options, block_bytes, "\t")
        return
    state = None
    for line, data in cut_blocks(chunks, after_line_end, block_bytes, stream.limit):
        if state is None:
            header = checked_utf8(data.partition(b"\n")[0], stream.name, line, options.errors)[0]
            names = [unquoted(name) for name in header.decode().split("\t")]
            state = (names, *choose_columns(names, options, stream.name))
        yield RawBlock(data, stream.name, line, options, parse_tsv, state=state)


def parse_tsv(raw: RawBlock) -> TextBlock:
    """Split TSV into rows, removing the quotes that spreadsheets write around cells."""
    data, counts = raw.checked()
    names, text, kept = raw.state
    rows = RowBuffer(raw.options)
    for number, line in enumerate(data.decode().split("\n"), raw.first_line):
        if number == 1 or not line:
            continue
        row = line.split("\t")
        _check_width(row, names, f"{raw.source}:{number}")
        values = {field: unquoted(row[index]) for field, index in kept.items()}
        rows.add(unquoted(row[text]), number, values)
    return records_block(raw, rows.texts, rows.positions, rows.kept, counts)


def table_rows(text: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a CSV or TSV table, first the names; raise if one differs in length."""
    header = text.partition("\n")[0]
    delimiter = "\t" if "\t" in header else max(_DELIMITERS, key=header.count)
    rows: Iterator[tuple[int, list[str]]]
    if delimiter == "\t" and not _has_quoted_line_ends(text):
        lines = enumerate(text.split("\n"), 1)
        rows = ((n, list(map(unquoted, line.split("\t")))) for n, line in lines if line)
    else:
        lined = io.StringIO(text, newline="\n")
        reader = csv.reader(lined, delimiter=delimiter, strict=True)
        rows = _csv_rows(reader, BlockLimit(name, math.inf))
    names: list[str] | None = None
    for line, row in rows:
        names = names or row
        _check_width(row, names, f"{name}:{line}")
        yield row


def _has_quoted_line_ends(text: str) -> bool:
    """Return whether quotes are paired as in CSV, all rows are as wide, and a cell has lines."""
    if '"' not in text:
        return False
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(io.StringIO(text, newline="\n"), delimiter="\t", strict=True))
    except csv.Error as error:
        if "unexpected end" not in str(error):
            return False
    widths = {len(row) for row in rows if row}
    return len(widths) == 1 and any("\n" in cell for row in rows for cell in row)


def _csv_lines(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[str]:
    """Yield validated lines with their line ends."""
    for first_line, data in cut_blocks(chunks, after_line_end, block_bytes, stream.limit):
        data, replaced = checked_utf8(data, stream.name, first_line, options.errors)
        stream.add_replaced(replaced)
        yield from io.StringIO(data.decode(), newline="\n")


def _csv_rows(reader: Any, limit: BlockLimit) -> Iterator[tuple[int, list[str]]]:
    """Yield non-blank rows, each with the line number at which it starts."""
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            if "field limit" in str(error):
                limit.check(csv.field_size_limit() + 1, line)
            raise SourceError(
                f"{limit.source}:{line}: malformed CSV ({error}); quote cells that contain quotes, "
                "and double these quotes"
            ) from None
        if row is None:
            return
        if row:
            yield line, row


def _check_width(row: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise if a row has more or fewer cells than the header."""
    if len(row) != len(names):
        quoted = any(cell.count('"') % 2 for cell in row)
        raise SourceError(
            f"{where}: {len(row)} columns, but the header has {len(names)}; fix the row"
            + (", or pass `format=csv` if a quoted cell goes on in the next line" * quoted)
        )


def unquoted(cell: str) -> str:
    """Return a TSV cell without its quotes if all of it is quoted."""
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"':
        return cell
    inner = cell[1:-1].replace('""', "\0")
    return cell if '"' in inner else inner.replace("\0", '"')


_OPTIONS = ("wrapped", "field", "keep")
CSV = Format(csv_blocks, _OPTIONS)
TSV = Format(tsv_blocks, _OPTIONS)
