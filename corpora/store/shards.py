"""Shards of a corpus: document-aligned ranges of token ids."""

from functools import cached_property
from pathlib import Path

import numpy as np

from corpora.artifacts.arrays import open_array, read_strings


class Shard:
    """A finished shard; arrays are memory-mapped on first use."""

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
        """Memory-map an array by its name in the manifest."""
        return open_array(self.directory, name)

    def field(self, name: str) -> list[str]:
        """Read a kept field, one value per document."""
        text, offsets = (self.array(f"{field_array(name)}.{part}") for part in ("text", "offsets"))
        return read_strings(text, offsets, 0, len(offsets) - 1)


def field_array(name: str) -> str:
    """Return the file name of a kept field's array, safe for any field name."""
    return "field." + name.replace("%", "%25").replace("/", "%2F")
