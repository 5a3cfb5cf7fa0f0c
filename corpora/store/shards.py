"""Shards of the store: what a document-aligned stretch of token ids is made of."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.arrays import ArrayWriter, StringWriter, array_path, open_array, read_strings
from corpora.build.encode import EncodedBlock

# Small enough to share among threads, large enough that 10G tokens make no crowd of files.
SHARD_TOKENS = 1 << 23
LEVELS = ("sentences", "paragraphs", "documents")


class ShardWriter:
    """Writes one shard as blocks arrive in the order of the text.

    Parameters
    ----------
    directory : Path
        Where the shard will stand.

    Attributes
    ----------
    segments : list of tuple of int
        First token, token after the last, and number of the type table, per block.
    """

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
        """Write a block behind the last.

        Parameters
        ----------
        block : EncodedBlock
            Token ids and starts.
        table : int
            Number of the type table whose ids these are.
        source : int
            Number of the source that the documents come from.
        positions : int64 (n_documents,)
            Where each document starts in its source: line or record, from 1.
        fields : mapping of str to sequence of str
            Kept fields, one value a document.
        continues : bool
            The first document is the last one of the block before.
        """
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
        """Finish the files.

        Returns
        -------
        dict
            The shard's entry in the manifest.
        """
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
                self._fields[name] = StringWriter(self.directory, _field_array(name))
                self._fields[name].append([""] * n_before)
        for name, writer in self._fields.items():
            writer.append(fields[name][skip:] if name in fields else [""] * n_new)

    def _writer(self, name: str, dtype: Any) -> ArrayWriter:
        """A named array of this shard."""
        return ArrayWriter(array_path(self.directory, name), dtype)


class Shard:
    """One finished shard, memory-mapped array by array as they are asked for.

    Parameters
    ----------
    directory : Path
        Where it stands.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @cached_property
    def ids(self) -> np.ndarray:
        """int32 (n_tokens,): type ids."""
        return self.array("ids")

    @cached_property
    def documents(self) -> np.ndarray:
        """int64 (n_documents + 1,): token offsets."""
        return self.array("documents")

    @cached_property
    def held_out(self) -> np.ndarray:
        """bool (n_documents,): the held-out slice."""
        return self.array("held_out")

    def array(self, name: str) -> np.ndarray:
        """Open one named array.

        Parameters
        ----------
        name : str
            As the manifest lists it.

        Returns
        -------
        ndarray
            Memory-mapped.
        """
        return open_array(self.directory, name)

    def field(self, name: str) -> list[str]:
        """Read a kept field.

        Parameters
        ----------
        name : str
            As given to ``--keep``.

        Returns
        -------
        list of str
            One value a document.
        """
        text, offsets = (self.array(f"{_field_array(name)}.{part}") for part in ("text", "offsets"))
        return read_strings(text, offsets, 0, len(offsets) - 1)


def _field_array(name: str) -> str:
    """The array of a kept field: whatever its name holds, one file in the shard's own folder."""
    return "field." + name.replace("%", "%25").replace("/", "%2F")
