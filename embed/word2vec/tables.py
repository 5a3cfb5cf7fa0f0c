"""The tables that word2vec trains, laid out for its kernels: aligned rows, a zero row last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import row_blocks, save_array, save_blocks
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import machine_memory, parse_memory
from firth.embed.vectors.subwords import word_buckets
from firth.embed.vectors.word_vectors import BUCKETS, CONTEXTS, INPUTS, MATRIX, WordVectors
from firth.embed.vectors.wordlist import VOCABULARY, write_words
from firth.embed.word2vec.config import Ngrams
from firth.embed.word2vec.initial import fill_tables
from firth.embed.word2vec.kernels.simd_ir import LANES

_BY_PART = 44  # bytes of an n-gram, while words are composed of them
_BY_SPARE = 3  # rows with the inputs that threads copy
_COMPOSED = 1 << 14  # values composed at a time: each is a mean of dozens


@dataclass(frozen=True)
class Tables:
    """Input and output tables in padded, aligned memory."""

    # float32 (N + 1, width): word vectors in the first ``dim`` columns: V words and, with
    # subwords, B buckets after them. The last row is zero.
    inputs: np.ndarray
    # float32 (V + spare + 1, width): context vectors, then work rows, then a zero row
    outputs: np.ndarray
    n_words: int  # V
    dim: int  # D; the columns beyond it are zero
    # int64 (V + 1,) or (1,): word w is the mean of the inputs ``parts[starts[w]:starts[w + 1]]``
    starts: np.ndarray
    parts: np.ndarray  # int32 (n,): empty without subwords
    # int64 (B,): the n-gram bucket of each input row after the words; None without subwords
    buckets: np.ndarray | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return views of the trained values, without padding, float32 (N, D) and (V, D)."""
        return {
            "inputs": self.inputs[:-1, : self.dim],
            "outputs": self.outputs[: self.n_words, : self.dim],
        }

    def load(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Restore what :meth:`arrays` returned."""
        for name, table in self.arrays().items():
            table[:] = arrays[name]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the trained values, some rows at a time."""
        # yields float32 (n, D)
        for table in self.arrays().values():
            yield from row_blocks(table)

    def vectors(self, first: int, last: int) -> np.ndarray:
        """Return the vectors of words ``first`` to ``last - 1``, composed if there are subwords."""
        # returns float32 (last - first, D)
        rows = self.inputs[:, : self.dim]
        if self.buckets is None:
            return rows[first:last]
        starts = self.starts[first : last + 1]
        parts = self.parts[starts[0] : starts[-1]]
        sums = np.add.reduceat(rows[parts], starts[:-1] - starts[0], axis=0, dtype=np.float64)
        return (sums / np.diff(starts)[:, None]).astype(np.float32)

    def save(self, directory: Path, words: Sequence[str], counts: np.ndarray) -> None:
        """Write the vocabulary and both tables in the format of a run."""
        # counts: int64 (V,)
        write_words(directory / VOCABULARY, words, counts)
        arrays = self.arrays()
        save_array(directory / CONTEXTS, arrays["outputs"])
        if self.buckets is None:
            save_array(directory / MATRIX, arrays["inputs"])
            return
        save_array(directory / INPUTS, arrays["inputs"])
        save_array(directory / BUCKETS, self.buckets)
        step = max(1, _COMPOSED // self.dim)
        firsts = range(0, self.n_words, step)
        composed = (self.vectors(n, min(n + step, self.n_words)) for n in firsts)
        save_blocks(directory / MATRIX, np.float32, (self.n_words, self.dim), composed)


def make_tables(
    words: Sequence[str],
    dim: int,
    seed: int,
    init: WordVectors | None,
    ngrams: Ngrams | None,
    spare: int = 0,
    *,
    memory: str | None = None,
    besides: int = 0,
) -> Tables:
    """Return the initial tables with ``spare`` work rows; raise if they exceed ``memory``."""
    starts, parts = np.zeros(1, np.int64), np.empty(0, np.int32)
    buckets = np.empty(0, np.int64)
    if ngrams is not None:
        starts, parts, buckets = compose_words(words, ngrams)
    used = None if ngrams is None else buckets
    n_rows = 2 * len(words) + len(buckets) + _BY_SPARE * spare
    n_bytes = max(_BY_PART * len(parts), parts.nbytes + 4 * _width(dim) * n_rows)
    require_tables(besides + n_bytes, len(words), dim, memory)
    inputs = _zeros(len(words) + len(buckets) + 1, dim)
    outputs = _zeros(len(words) + spare + 1, dim)
    tables = Tables(inputs, outputs, len(words), dim, starts, parts, used)
    arrays = tables.arrays()
    fill_tables(arrays["inputs"], arrays["outputs"], words, seed, init, buckets)
    return tables


def require_tables(needed: int, n_words: int, dim: int, memory: str | None) -> None:
    """Raise if a training takes more than ``memory``, by default all of the machine's."""
    limit = machine_memory() if memory is None else parse_memory(memory)
    if needed > limit:
        bound = f"`memory={memory}`" if memory else f"this machine has {limit >> 20:,} MB"
        raise SettingError(
            f"{bound}: {n_words:,} words of {dim} dimensions take at least "
            f"`memory={-(-needed >> 20)}M`; pass that, or a smaller `max_vocabulary`, a larger "
            "`min_count` or a smaller `dim`"
        )


def compose_words(
    words: Sequence[str], ngrams: Ngrams
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return starts and parts of each word (its own row, then its n-grams), and the buckets."""
    # returns int64 (V + 1,), int32 (n,), int64 (B,)
    starts, found = word_buckets(words, *ngrams)
    buckets, places = np.unique(found, return_inverse=True)
    n_words = len(words)
    parts = np.empty(len(found) + n_words, dtype=np.int32)
    own = starts[:-1] + np.arange(n_words)
    parts[own] = np.arange(n_words)
    others = np.ones(len(parts), dtype=bool)
    others[own] = False
    parts[others] = n_words + places
    return starts + np.arange(n_words + 1), parts, buckets


def _width(dim: int) -> int:
    """Return the columns of a table: a multiple of LANES."""
    return -(-dim // LANES) * LANES


def _zeros(n_rows: int, dim: int) -> np.ndarray:
    """Return an aligned table; takes no memory until written."""
    width = _width(dim)
    memory = np.zeros(n_rows * width + LANES, dtype=np.float32)
    skip = -memory.ctypes.data // memory.itemsize % LANES
    return memory[skip : skip + n_rows * width].reshape(n_rows, width)
