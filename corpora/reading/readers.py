"""Reads sources of any format as blocks of text.

:func:`read` cuts sources into raw blocks in order, which is cheap; ``parse`` turns each block
into a :class:`TextBlock`, in any order and in any thread or process.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import SourceError, UnreadableError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.reading.detect import HEAD_BYTES, detect, detect_wrapping
from firth.corpora.reading.formats import format_named
from firth.corpora.reading.sources import SourceFile, Stream, peek, source_files
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock, ReadOptions

_PARQUET = b"PAR1"  # the first bytes of such files


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


def find_unreadable(
    files: Sequence[SourceFile],
    options: ReadOptions,
    *,
    whole: bool,
    most_bytes: float = math.inf,
    progress: Progress = no_progress,
) -> dict[SourceFile, str]:
    """Return the error of each file that cannot be read, judged by its beginning or as a whole.

    Pipes and standard input are left out, since they can be read only once. Raises SourceError for
    options that do not fit a file, and for malformed records.
    """
    options = dataclasses.replace(options, wrapped=bool(options.wrapped))  # need not be detected
    found, done, total = {}, 0, sum(file.size or 0 for file in files)
    for file in files:
        if file.size is None:
            continue
        try:
            block_bytes = BLOCK_BYTES if whole else HEAD_BYTES
            stream = Stream(file, options, HEAD_BYTES, most_bytes)
            if not whole and stream.head.startswith(_PARQUET) and not stream.is_plain_file:
                continue  # its beginning says little, and all of it would have to be copied
            blocks = file_blocks(stream, options, block_bytes)
            for block in blocks if whole else itertools.islice(blocks, 1):
                if whole:
                    block.parse()
                elif isinstance(block.data, bytes):  # else it was decoded while cutting
                    # not parsed: TEI is one block, and fields may be missing only at the beginning
                    block.checked()
        except UnreadableError as error:
            found[file] = str(error)
        done += file.size
        if whole:
            progress(done, total)
    return found


def detected_options(stream: Stream, options: ReadOptions) -> ReadOptions:
    """Return the options with the format of a file, and whether its text is wrapped."""
    if stream.head.startswith(_PARQUET):
        return dataclasses.replace(options, format="parquet")
    head, _ = peek(stream.text(), HEAD_BYTES)
    detected = dataclasses.replace(options, format=detect(head, stream.name, options))
    if detected.format == "text":
        detected = detect_wrapping(detected, head, {})
    return detected


def file_blocks(stream: Stream, options: ReadOptions, block_bytes: int) -> Iterator[RawBlock]:
    """Yield the blocks of one file."""
    is_parquet = stream.head.startswith(_PARQUET)
    if options.format == "parquet" and not is_parquet:
        raise SourceError(f"{stream.name}: not a Parquet file; drop `format` to detect its format")
    if is_parquet and options.format in ("auto", "parquet"):
        return format_named("parquet").blocks(stream, iter(()), options, block_bytes)
    head, chunks = peek(stream.text(), HEAD_BYTES)
    if not head:
        stream.found["empty"] = True
        return iter(())
    detected = detect(head, stream.name, options)
    if detected == "text":
        options = detect_wrapping(options, head, stream.found)
    return format_named(detected).blocks(stream, chunks, options, block_bytes)
