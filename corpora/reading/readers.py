"""Reads sources of any format as blocks of text.

:func:`read` cuts sources into raw blocks in order, which is cheap; ``parse`` turns each block
into a :class:`TextBlock`, in any order and in any thread or process.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.detect import HEAD_BYTES, detect, detect_wrapping
from firth.corpora.reading.formats import format_named
from firth.corpora.reading.sources import SourceFile, Stream, peek, source_files
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock, ReadOptions

PARQUET_HEAD = b"PAR1"  # the first bytes of such files


def read(
    sources: Sequence[str | Path | SourceFile],
    options: ReadOptions,
    *,
    records: list[dict[str, Any]] | None = None,
    block_bytes: int = BLOCK_BYTES,
    most_bytes: float = math.inf,
) -> Iterator[RawBlock]:
    """Read sources as blocks of about ``block_bytes``, in a fixed order and in bounded memory.

    ``consumed`` of the blocks adds up to the sizes of the files; a long line makes a long block, of
    ``most_bytes`` at most.
    For each file read to its end, even an empty one, ``records`` gets its SHA-256 and findings.
    """
    files = source_files(sources)
    for file in files:
        stream = Stream(file, options, block_bytes, most_bytes)
        for block in file_blocks(stream, options, block_bytes):
            yield dataclasses.replace(
                block,
                consumed=stream.take_consumed(),
                counts={**block.counts, **stream.take_counts()},
            )
        if stream.found.get("empty") and file.named and len(files) == 1:
            raise SourceError(f"{file.name}: the source is empty; pass one that contains text")
        if records is not None:
            records.append({"sha256": stream.digest(), **stream.found})


def file_blocks(stream: Stream, options: ReadOptions, block_bytes: int) -> Iterator[RawBlock]:
    """Yield the blocks of one file."""
    options, chunks = detected_options(stream, options)
    if stream.found.get("empty"):
        return iter(())
    return format_named(options.format).blocks(stream, chunks, options, block_bytes)


def detected_options(stream: Stream, options: ReadOptions) -> tuple[ReadOptions, Iterator[bytes]]:
    """Return the options with the format of a file, and whether its text is wrapped; its chunks."""
    is_parquet = stream.head.startswith(PARQUET_HEAD)
    if is_parquet and options.format in ("auto", "parquet"):
        return dataclasses.replace(options, format="parquet"), iter(())
    if options.format == "parquet":
        raise SourceError(f"{stream.name}: not a Parquet file; drop `format` to detect its format")
    head, chunks = peek(stream.text(), HEAD_BYTES)
    if not head:
        stream.found["empty"] = True
        return options, chunks
    options = dataclasses.replace(options, format=detect(head, stream.name, options))
    if options.format == "text":
        if options.sequences:
            options = dataclasses.replace(options, documents="line")
        options = detect_wrapping(options, head, stream.found)
    return options, chunks
