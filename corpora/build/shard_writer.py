"""Writing shards, block by block, while a corpus is built."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.arrays import ArrayWriter, StringWriter, array_path
from corpora.build.encode import EncodedBlock
from corpora.store.shards import field_array

# Small enough to share among threads, large enough that 10G tokens make no crowd of files.
SHARD_TOKENS = 1 << 23
LEVELS = ("sentences", "paragraphs", "documents")


class ShardWriter:
    """Writes one shard as blocks arrive in the order of the text."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ids = self._writer("ids", np.int32)
        self._levels = {level: self._writer(level, np.int64) for level in LEVELS}
        self._held_out = self._writer("held_out", np.bool_)
        self._sources = self._writer("document_sources", np.int32)
        self._positions = self._writer("document_positions", np.int64)
        self._fields: dict[str, StringWriter] = {}
        self.segments: list[tuple[int, int, int]] = []

    @property
    def n_tokens(self) -> int:
        """Tokens written so far."""
        return self._ids.length

    @property
    def lengths(self) -> dict[str, int]:
        """Sentences, paragraphs and documents written so far."""
        return {level: writer.length for level, writer in self._levels.items()}

    def append(
        self,
        block: EncodedBlock,
        table: int,
        source: int,
        positions: np.ndarray,
        fields: Mapping[str, Sequence[str]],
        continues: bool,
    ) -> None:
        """Write a block behind the last."""
        # positions: int64 (n_documents,)
        first = self.n_tokens
        skip = 1 if continues else 0
        self.segments.append((first, first + len(block.token_ids), table))
        self._ids.append(block.token_ids)
        self._levels["sentences"].append(block.sentences + first)
        self._levels["paragraphs"].append(block.paragraphs + first)
        self._levels["documents"].append(block.documents[skip:] + first)
        self._held_out.append(block.held_out[skip:])
        self._sources.append(np.full(len(block.documents) - skip, source, dtype=np.int32))
        self._positions.append(np.asarray(positions)[skip:])
        self._append_fields(fields, len(block.documents) - skip, skip)

    def close(self) -> dict[str, Any]:
        """Finish the files."""
        entry = {"name": self.directory.name, "tokens": self.n_tokens, **self.lengths}
        end = np.array([self.n_tokens], dtype=np.int64)
        for writer in self._levels.values():
            writer.append(end)
        for writer in (self._ids, self._held_out, self._sources, self._positions):
            writer.close()
        for writer in self._levels.values():
            writer.close()
        for strings in self._fields.values():
            strings.close()
        return entry

    def discard(self) -> None:
        """Let go of the files of a build that failed."""
        for writer in (self._ids, self._held_out, self._sources, self._positions):
            writer.discard()
        for writer in self._levels.values():
            writer.discard()
        for strings in self._fields.values():
            strings.discard()

    def _append_fields(self, fields: Mapping[str, Sequence[str]], n_new: int, skip: int) -> None:
        """Write the fields; a source that lacks one that others have gives empty values."""
        n_before = self._held_out.length - n_new
        for name in fields:
            if name not in self._fields:
                self._fields[name] = StringWriter(self.directory, field_array(name))
                self._fields[name].append([""] * n_before)
        for name, writer in self._fields.items():
            writer.append(fields[name][skip:] if name in fields else [""] * n_new)

    def _writer(self, name: str, dtype: Any) -> ArrayWriter:
        """A named array of this shard."""
        return ArrayWriter(array_path(self.directory, name), dtype)
