"""Where each type occurs: an index of token positions, made on first use."""

import os
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from firth.corpora.artifacts.arrays import map_array, new_mapped, offsets_of
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.cache import cache_folder
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import progress
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.occurrence_kernels import place_tokens

INDEX = "occurrences.npy"
_AGAIN = "delete it; it is made again on the next use"


class Occurrences:
    """The positions of all tokens by type, memory-mapped; all documents count.

    A position is the number of a token in the corpus, from 0. The index takes 4 bytes a token, 8
    from 2^31 tokens on. It lies in the corpus, or in the cache if the corpus cannot be written.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._starts = offsets_of(corpus.vocabulary.counts)

    def of(self, type_id: int) -> np.ndarray:
        """Return the positions of a type, ascending, int32 or int64 (n,)."""
        return self._positions[self._starts[type_id] : self._starts[type_id + 1]]

    def require(self) -> None:
        """Make the index unless it is there; the corpus is verified then, and not again."""
        _ = self._positions

    def count(self, type_id: int) -> int:
        """Return the number of tokens of a type; needs no index."""
        return int(self._starts[type_id + 1] - self._starts[type_id])

    @cached_property
    def _positions(self) -> np.ndarray:
        """Positions by type, int32 or int64 (n_tokens,)."""
        path = self._path()
        if not path.exists():
            self._write(path)
        positions = map_array(path, again=_AGAIN, missing=f"the index is missing; {_AGAIN}")
        if positions.shape != (self._starts[-1],) or positions.dtype != self._dtype:
            self.refuse()
        return positions

    def refuse(self) -> NoReturn:
        """Raise since the index has other positions than the corpus."""
        raise ArtifactError(
            f"{self._path()}: does not fit the corpus {self._corpus.path}; {_AGAIN}"
        )

    @property
    def _dtype(self) -> type[np.integer[Any]]:
        return np.int32 if self._starts[-1] < 2**31 else np.int64

    def _path(self) -> Path:
        """Return where the index is, or is to be written."""
        path = self._corpus.path / INDEX
        if path.exists() or os.access(path.parent, os.W_OK):
            return path
        return cache_folder("occurrences") / f"{self._corpus.fingerprint}.npy"

    def _write(self, path: Path) -> None:
        """Verify the corpus and write the index, by counting sort, shard by shard."""
        self._corpus.verify()
        n_tokens = int(self._starts[-1])
        following, first = self._starts[:-1].copy(), 0
        with atomic_output(path, force=True) as partial, progress("indexing", "tokens") as show:
            positions = new_mapped(partial, self._dtype, n_tokens)
            for shard in self._corpus.shards:
                place_tokens(shard.ids, first, following, positions)
                first += len(shard.ids)
                show(first, n_tokens)
            positions.flush()
            del positions  # or Windows would not rename its file
