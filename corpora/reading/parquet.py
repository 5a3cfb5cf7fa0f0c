"""Parquet: each row is a document. pyarrow is an optional dependency, imported only here."""

import contextlib
import tempfile
from collections.abc import Iterator
from typing import Any

from firth.corpora.common.errors import SourceError, UnreadableError, imported, one_line
from firth.corpora.reading.formats import Format
from firth.corpora.reading.in_memory import as_field
from firth.corpora.reading.records import choose_columns
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.tables import RowBuffer
from firth.corpora.reading.text_blocks import RawBlock, ReadOptions

_BATCH_ROWS = 64  # a small dictionary may stand for that many long texts


def parquet_blocks(
    stream: Stream, _chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Read Parquet in batches of rows; positions are 1-based row numbers."""
    remedy = "reading Parquet needs pyarrow; pip install 'firth[parquet]'"
    parquet = imported("pyarrow.parquet", SourceError(f"{stream.name}: {remedy}"))
    rows, record = RowBuffer(options), 0
    with _seekable(stream) as place:
        for texts, kept in _parquet_batches(parquet, place, stream.name, options):
            for index, text in enumerate(texts):
                record += 1
                rows.add(text, record, {field: values[index] for field, values in kept.items()})
                if rows.size >= block_bytes:
                    yield rows.take_block(stream)
    yield rows.take_block(stream)


def _parquet_batches(
    parquet: Any, place: Any, source: str, options: ReadOptions
) -> Iterator[tuple[list[str | None], dict[str, list[str]]]]:
    """Yield texts and kept fields batch by batch; pyarrow errors become SourceError."""
    from pyarrow import ArrowException

    try:
        with parquet.ParquetFile(place) as table:
            schema, groups = table.schema_arrow, table.metadata
            if groups.num_row_groups and groups.row_group(0).column(0).file_path:
                raise UnreadableError(
                    f"{source}: an index of other Parquet files; name these, or their folder"
                )
            text, kept = choose_columns(schema.names, options, source)
            _check_text_type(schema.field(text), source)
            columns = list(dict.fromkeys([schema.names[text], *kept]))
            for batch in table.iter_batches(_BATCH_ROWS, columns=columns):
                # by number, since a name may occur twice
                values = {name: batch.column(batch.schema.names.index(name)) for name in columns}
                yield (
                    values[schema.names[text]].to_pylist(),
                    {field: [as_field(v) for v in values[field].to_pylist()] for field in kept},
                )
    except (OSError, ValueError, ArrowException) as error:
        raise UnreadableError(
            f"{source}: corrupt Parquet ({one_line(error)}); download it again"
        ) from error


@contextlib.contextmanager
def _seekable(stream: Stream) -> Iterator[Any]:
    """Hash the file and yield its path, or a temporary copy if it is a pipe or compressed."""
    if stream.is_plain_file:
        stream.drain()
        yield stream.file.path
        return
    with tempfile.TemporaryFile() as copy:
        stream.drain(copy)
        yield copy


def _check_text_type(field: Any, source: str) -> None:
    """Raise if the text column is not of a string type."""
    kind = str(field.type)
    if "string" not in kind or kind.startswith(("list", "struct", "map", "large_list")):
        raise SourceError(
            f"{source}: field {field.name!r} has type {kind}, not string; pass another `field`"
        )


PARQUET = Format(parquet_blocks, ("wrapped", "field", "keep"))
