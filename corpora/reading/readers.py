"""Reads sources of any format as blocks of text.

:func:`read` cuts sources into raw blocks in order, which is cheap; ``parse`` turns each block
into a :class:`TextBlock`, in any order and in any thread or process.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from corpora.common.errors import SourceError
from corpora.reading.conllu import conllu_blocks
from corpora.reading.detect import HEAD_BYTES, detect
from corpora.reading.parquet import parquet_blocks
from corpora.reading.plain_text import text_blocks
from corpora.reading.records import jsonl_blocks
from corpora.reading.sources import SourceFile, Stream, peek, source_files
from corpora.reading.tables import csv_blocks, tsv_blocks
from corpora.reading.text_blocks import BLOCK_BYTES, FORMATS, RawBlock, ReadOptions, TextBlock
from corpora.reading.wiki.reader import mediawiki_blocks, wikiextractor_blocks

__all__ = [
    "BLOCK_BYTES",
    "FORMATS",
    "Digests",
    "RawBlock",
    "ReadOptions",
    "SourceFile",
    "TextBlock",
    "read",
    "source_files",
]


class Digests:
    """SHA-256 of each file read to its end, empty ones included, in reading order."""

    def __init__(self) -> None:
        self._digests: list[str] = []

    def add(self, digest: str) -> None:
        """Append the hexadecimal digest of the next file."""
        self._digests.append(digest)

    def all(self) -> list[str]:
        """Return the digests so far."""
        return list(self._digests)


_Cutter = Callable[[Stream, Iterator[bytes], ReadOptions, int], Iterator[RawBlock]]

_CUTTERS: dict[str, _Cutter] = {
    "text": text_blocks,
    "jsonl": jsonl_blocks,
    "csv": csv_blocks,
    "tsv": tsv_blocks,
    "conllu": conllu_blocks,
    "mediawiki": mediawiki_blocks,
    "wikiextractor": wikiextractor_blocks,
}


def read(
    sources: Sequence[str | Path | SourceFile],
    options: ReadOptions,
    *,
    digests: Digests | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[RawBlock]:
    """Read sources as blocks of about ``block_bytes``, in a fixed order and in bounded memory.

    ``consumed`` of the blocks adds up to the sizes of the files; a long line makes a long block.
    """
    for file in source_files(sources):
        stream = Stream(file, options, block_bytes)
        for block in _file_blocks(stream, options, block_bytes):
            yield dataclasses.replace(
                block,
                consumed=stream.take_consumed(),
                counts={**block.counts, **stream.take_counts()},
            )
        if digests is not None:
            digests.add(stream.digest())


def _file_blocks(stream: Stream, options: ReadOptions, block_bytes: int) -> Iterator[RawBlock]:
    """Yield the blocks of one file; an empty file is an error only if it was named explicitly."""
    is_parquet = stream.head.startswith(b"PAR1")
    if options.format == "parquet" and not is_parquet:
        raise SourceError(f"{stream.name}: not a Parquet file; drop `format` to detect its format")
    if is_parquet and options.format in ("auto", "parquet"):
        return parquet_blocks(stream, options, block_bytes)
    head, chunks = peek(stream.text(), HEAD_BYTES)
    if not head:
        if stream.file.named:
            raise SourceError(f"{stream.name}: the source is empty; pass one that contains text")
        return iter(())
    return _CUTTERS[detect(head, stream.name, options)](stream, chunks, options, block_bytes)
