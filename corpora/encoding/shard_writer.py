"""Writes shards block by block while a corpus is built."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import ArrayWriter, StringWriter, array_path
from firth.corpora.encoding.encode import EncodedBlock
from firth.corpora.encoding.keep_text import TextWriter
from firth.corpora.reading.text_blocks import TextBlock
from firth.corpora.store.shards import HEADS, field_array

# Small enough to balance threads, large enough that 10G tokens need few files.
SHARD_TOKENS = 1 << 23
LEVELS = ("sentences", "paragraphs", "documents")
DOCUMENT_KEYS = "document_keys"  # an array that the choice of the held-out slice removes


class ShardWriter:
    """Writes one shard from blocks in text order."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ids = self._writer("ids", np.int32)
        self._levels = {level: self._writer(level, np.int64) for level in LEVELS}
        self._keys = self._writer(DOCUMENT_KEYS, np.uint64)
        self._sources = self._writer("document_sources", np.int32)
        self._positions = self._writer("document_positions", np.int64)
        self._fields: dict[str, StringWriter] = {}
        self._texts: TextWriter | None = None  # of all blocks or of none
        self._heads: ArrayWriter | None = None  # from the first block that has heads
        # first token, token after the last, number of the type table, for each block
        self.segments: list[tuple[int, int, int]] = []

    @property
    def n_tokens(self) -> int:
        """Number of tokens written so far."""
        return self._ids.length

    @property
    def lengths(self) -> dict[str, int]:
        """Numbers of sentences, paragraphs and documents written so far."""
        return {level: writer.length for level, writer in self._levels.items()}

    def append(self, block: EncodedBlock, parsed: TextBlock, table: int, source: int) -> None:
        """Append a block with the numbers of the type table of its ids and of its source."""
        first = self.n_tokens
        skip = 1 if parsed.continues else 0  # the first document was written in part
        self.segments.append((first, first + len(block.token_ids), table))
        self._append_heads(block)
        self._ids.append(block.token_ids)
        self._levels["sentences"].append(block.sentences + first)
        self._levels["paragraphs"].append(block.paragraphs + first)
        self._levels["documents"].append(block.documents[skip:] + first)
        self._keys.append(block.keys[skip:])
        self._sources.append(np.full(len(block.documents) - skip, source, dtype=np.int32))
        self._positions.append(np.asarray(parsed.positions)[skip:])
        self._append_fields(parsed.fields, len(block.documents) - skip, skip)
        if block.texts is not None:
            self._texts = self._texts or TextWriter(self.directory)
            self._texts.append(block.texts)

    def close(self) -> dict[str, Any]:
        """Finish the files and return the manifest entry of the shard."""
        entry = {"name": self.directory.name, "tokens": self.n_tokens, **self.lengths}
        end = np.array([self.n_tokens], dtype=np.int64)
        for writer in self._levels.values():
            writer.append(end)
        for file in self._writers():
            file.close()
        return entry

    def discard(self) -> None:
        """Close the files of a failed build."""
        for file in self._writers():
            file.discard()

    def _writers(self) -> list[ArrayWriter | StringWriter | TextWriter]:
        """Return the writers of all files of the shard."""
        optional = [writer for writer in (self._texts, self._heads) if writer]
        always = [self._ids, *self._levels.values(), self._keys, self._sources, self._positions]
        return [*always, *self._fields.values(), *optional]

    def _append_fields(self, fields: Mapping[str, Sequence[str]], n_new: int, skip: int) -> None:
        """Append kept fields; sources without a field that others have get empty values."""
        n_before = self._keys.length - n_new
        for name in fields:
            if name not in self._fields:
                self._fields[name] = StringWriter(self.directory, field_array(name))
                self._fields[name].append([""] * n_before)
        for name, writer in self._fields.items():
            writer.append(fields[name][skip:] if name in fields else [""] * n_new)

    def _append_heads(self, block: EncodedBlock) -> None:
        """Append the heads of a block; those of blocks without any are unknown, 0."""
        if block.heads is not None and self._heads is None:
            self._heads = self._writer(HEADS, np.int32)
            self._heads.append(np.zeros(self.n_tokens, dtype=np.int32))
        if self._heads is not None:
            unknown = np.zeros(len(block.token_ids), dtype=np.int32)
            self._heads.append(unknown if block.heads is None else block.heads)

    def _writer(self, name: str, dtype: Any) -> ArrayWriter:
        """Return the writer of a named array of this shard."""
        return ArrayWriter(array_path(self.directory, name), dtype)
