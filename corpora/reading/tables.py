"""CSV and TSV: each row is a document."""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from corpora.common.errors import SourceError
from corpora.reading.decoding import checked_utf8
from corpora.reading.line_ends import after_line_end, cut_blocks
from corpora.reading.records import choose_columns, records_block
from corpora.reading.sources import Stream
from corpora.reading.text_blocks import RawBlock, ReadOptions, TextBlock

_DELIMITERS = ",;|\t"


class Rows:
    """Rows gathered for one block."""

    def __init__(self, options: ReadOptions) -> None:
        self.texts: list[str] = []
        self.positions: list[int] = []
        self.kept: dict[str, list[str]] = {field: [] for field in options.keep}
        self.size = 0

    def add(self, text: str, position: int, kept: dict[str, str]) -> None:
        """Add one row."""
        self.texts.append(text)
        self.positions.append(position)
        self.size += len(text)
        for field, value in kept.items():
            self.kept[field].append(value)

    def block(self, stream: Stream, options: ReadOptions) -> RawBlock:
        """Make a block of the rows."""
        data = (self.texts, self.positions, self.kept)
        first = self.positions[0] if self.positions else 1
        return RawBlock(data, stream.name, first, options, parse_rows)


def parse_rows(raw: RawBlock) -> TextBlock:
    """Lay out rows that were split before."""
    texts, positions, kept = raw.data
    return records_block(raw, texts, positions, kept, dict(raw.counts))


def csv_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Split CSV into rows, in order: only from the start is it known which quotes open."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = _csv_lines(stream, chunks, options, block_bytes)
    header = next(lines, "")
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(_again(header, lines), delimiter=delimiter, strict=True)
    table = _csv_rows(reader, stream.name)
    _, names = next(table, (1, []))
    text, kept = choose_columns(names, options, stream.name)
    rows = Rows(options)
    for line, row in table:
        _check_width(row, names, f"{stream.name}:{line}")
        rows.add(row[text], line, {field: row[index] for field, index in kept.items()})
        if rows.size >= block_bytes:
            yield rows.block(stream, options)
            rows = Rows(options)
    yield rows.block(stream, options)


def tsv_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut TSV at line ends: no cell holds one."""
    state = None
    for line, data in cut_blocks(chunks, after_line_end, block_bytes):
        if state is None:
            header = checked_utf8(data.partition(b"\n")[0], stream.name, line, options.errors)[0]
            names = [_unquoted(name) for name in header.decode().split("\t")]
            state = (names, *choose_columns(names, options, stream.name))
        yield RawBlock(data, stream.name, line, options, parse_tsv, state=state)


def parse_tsv(raw: RawBlock) -> TextBlock:
    """Split TSV into rows; a cell in quotes, as spreadsheets write them, loses these."""
    data, counts = raw.checked()
    names, text, kept = raw.state
    rows = Rows(raw.options)
    for number, line in enumerate(data.decode().split("\n"), raw.first_line):
        if number == 1 or not line:
            continue
        row = line.split("\t")
        _check_width(row, names, f"{raw.source}:{number}")
        values = {field: _unquoted(row[index]) for field, index in kept.items()}
        rows.add(_unquoted(row[text]), number, values)
    return records_block(raw, rows.texts, rows.positions, rows.kept, counts)


def _csv_lines(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[str]:
    """Validated lines, each with its line end."""
    for first_line, data in cut_blocks(chunks, after_line_end, block_bytes):
        data, replaced = checked_utf8(data, stream.name, first_line, options.errors)
        stream.add_replaced(replaced)
        yield from io.StringIO(data.decode(), newline="\n")


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    """A line put back before the others."""
    yield first
    yield from rest


def _csv_rows(reader: Any, source: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line at which it begins."""
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise SourceError(
                f"{source}:{line}: malformed CSV ({error}); quote cells that hold quotes, "
                "doubling these"
            ) from None
        if row is None:
            return
        if row:
            yield line, row


def _check_width(row: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuse a row with cells missing or too many."""
    if len(row) != len(names):
        raise SourceError(
            f"{where}: {len(row)} columns where the header has {len(names)}; mend the row"
        )


def _unquoted(cell: str) -> str:
    """A TSV cell without the quotes around it, where all of it is quoted."""
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"':
        return cell
    inner = cell[1:-1].replace('""', "\0")
    return cell if '"' in inner else inner.replace("\0", '"')
