"""Writes shards block by block while a corpus is built."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import ArrayWriter, ArrayWriters, StringWriter
from firth.corpora.encoding.encode import EncodedBlock
from firth.corpora.encoding.keep_text import TextWriter
from firth.corpora.encoding.table_pool import Encoded
from firth.corpora.store.shards import HEADS, field_array

# Small enough to balance threads, large enough that 10G tokens need few files.
SHARD_TOKENS = 1 << 23
LEVELS = ("sentences", "paragraphs", "documents")
DOCUMENT_KEYS = "document_keys"  # an array that the choice of the held-out slice removes


class ShardWriter(ArrayWriters):
    """Writes one shard from blocks in text order."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._ids = self.new("ids", np.int32)
        self._levels = {level: self.new(level, np.int64) for level in LEVELS}
        self._keys = self.new(DOCUMENT_KEYS, np.uint64)
        self._sources = self.new("document_sources", np.int32)
        self._positions = self.new("document_positions", np.int64)
        self._fields: dict[str, StringWriter] = {}
        self._texts: TextWriter | None = None  # of all blocks or of none
        self._heads: ArrayWriter | None = None  # from the first block that has heads
        # first token, token after the last, and the type table, for each block
        self.segments: list[tuple[int, int, Hashable]] = []

    @property
    def n_tokens(self) -> int:
        """Number of tokens written so far."""
        return self._ids.length

    def append(self, encoded: Encoded, source: int) -> None:
        """Append a block of a source, given the number of that."""
        block, text, first = encoded.block, encoded.text, self.n_tokens
        skip = 1 if text.continues else 0  # the first document was written in part
        self.segments.append((first, first + len(block.token_ids), encoded.table))
        self._append_heads(block)
        self._ids.append(block.token_ids)
        self._levels["sentences"].append(block.sentences + first)
        self._levels["paragraphs"].append(block.paragraphs + first)
        self._levels["documents"].append(block.documents[skip:] + first)
        self._keys.append(block.keys[skip:])
        self._sources.append(np.full(len(block.documents) - skip, source, dtype=np.int32))
        self._positions.append(np.asarray(text.positions)[skip:])
        self._append_fields(text.fields, len(block.documents) - skip, skip)
        if block.texts is not None:
            self._texts = self._texts or TextWriter(self)
            self._texts.append(block.texts)

    def finish(self) -> dict[str, Any]:
        """Finish the files and return the manifest entry of the shard."""
        lengths = {level: writer.length for level, writer in self._levels.items()}
        for writer in self._levels.values():
            writer.append(np.array([self.n_tokens]))
        if self._texts:
            self._texts.end()
        self.close()
        return {"name": self.directory.name, "tokens": self.n_tokens, **lengths}

    def _append_fields(self, fields: Mapping[str, Sequence[str]], n_new: int, skip: int) -> None:
        """Append kept fields; sources without a field that others have get empty values."""
        n_before = self._keys.length - n_new
        for name in fields:
            if name not in self._fields:
                self._fields[name] = StringWriter(self, field_array(name))
                self._fields[name].append([""] * n_before)
        for name, writer in self._fields.items():
            writer.append(fields[name][skip:] if name in fields else [""] * n_new)

    def _append_heads(self, block: EncodedBlock) -> None:
        """Append the heads of a block; those of blocks without any are unknown, 0."""
        if block.heads is not None and self._heads is None:
            self._heads = self.new(HEADS, np.int32)
            self._heads.append(np.zeros(self.n_tokens, dtype=np.int32))
        if self._heads is not None:
            unknown = np.zeros(len(block.token_ids), dtype=np.int32)
            self._heads.append(unknown if block.heads is None else block.heads)
