"""Shards of a corpus: document-aligned ranges of token ids."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from firth.corpora.artifacts.arrays import array_path, open_array, read_strings
from firth.corpora.common.system import file_name
from firth.corpora.store.kept_text import BLOCKS, KeptText

FORMS = "forms"  # an array of each shard, and the directory of their vocabulary
HEADS = "heads"  # an array of shards whose text came with dependency trees
_FIELD, _ENDING = "field.", ".offsets.npy"  # how the files of kept fields begin and end
UNITS = ("document", "paragraph", "sentence")  # of which a text can be held out


class Shard:
    """A finished shard, whose arrays are memory-mapped, held out and sampled by whole ``unit``s."""

    def __init__(self, directory: Path, unit: str = "document") -> None:
        self.directory = directory
        self.unit = unit
        self._arrays: dict[str, np.ndarray] = {}

    @cached_property
    def ids(self) -> np.ndarray:
        """int32 (n_tokens,): type ids."""
        return self.array("ids")

    @cached_property
    def forms(self) -> np.ndarray:
        """int32 (n_tokens,): ids of the forms that lemmas replaced; only in lemmatized corpora."""
        return self.array(FORMS)

    @property
    def keeps_heads(self) -> bool:
        """Whether the head of any token is known."""
        return array_path(self.directory, HEADS).exists()

    @cached_property
    def heads(self) -> np.ndarray:
        """int32 (n_tokens,): signed distance to the syntactic head; 0 if a root or unknown."""
        return self.array(HEADS) if self.keeps_heads else np.zeros(len(self.ids), dtype=np.int32)

    @cached_property
    def documents(self) -> np.ndarray:
        """int64 (n_documents + 1,): token offsets."""
        return self.array("documents")

    @cached_property
    def units(self) -> np.ndarray:
        """int64 (n_units + 1,): token offsets."""
        return self.offsets(self.unit)

    def offsets(self, unit: str) -> np.ndarray:
        """Return the token offsets of documents, paragraphs or sentences, int64 (n + 1,)."""
        return self.array(unit + "s")

    @cached_property
    def held_out(self) -> np.ndarray:
        """bool (n_units,): the held-out slice."""
        return self.array("held_out")

    def array(self, name: str) -> np.ndarray:
        """Memory-map an array by its name in the manifest, once."""
        if name not in self._arrays:
            self._arrays[name] = open_array(self.directory, name)
        return self._arrays[name]

    @cached_property
    def fields(self) -> dict[str, str]:
        """Names of the kept fields, in order, and of their arrays without what these end in."""
        files = self.directory.glob(f"{_FIELD}*{_ENDING}")
        arrays = [file.name.removesuffix(_ENDING) for file in files]
        return dict(sorted((unquote(array.removeprefix(_FIELD)), array) for array in arrays))

    def field(self, name: str, first: int = 0, stop: int | None = None) -> list[str]:
        """Read a kept field of a range of documents, by default all."""
        text, offsets = (self.array(f"{self.fields[name]}.{part}") for part in ("text", "offsets"))
        return read_strings(text, offsets, first, len(offsets) - 1 if stop is None else stop)

    @property
    def keeps_text(self) -> bool:
        """Whether the original text of the sentences is kept."""
        return array_path(self.directory, BLOCKS).exists()

    def sentence_texts(self, numbers: Sequence[int] | np.ndarray) -> list[str]:
        """Return the original texts of sentences by their numbers in the shard, in any order."""
        return self._kept_text.texts(numbers)

    @cached_property
    def _kept_text(self) -> KeptText:
        """The reader of the original text."""
        return KeptText(self.directory)


def field_array(name: str) -> str:
    """Return the file name of a kept field's array, safe for any field name."""
    return _FIELD + file_name(name)
