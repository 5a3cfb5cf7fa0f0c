"""Where the training of predictive vectors starts: small chance values, or earlier vectors."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from corpora.common.errors import ArtifactError, SettingError
from embed.formats.vector_files import load_vectors
from embed.vectors.subwords import SubwordTable, word_buckets
from embed.vectors.word_vectors import INPUTS, WordVectors
from embed.vectors.wordlist import index_words
from embed.word2vec.config import Word2VecConfig

_BLOCK = 1 << 14
_NGRAMS_BLOCK = 1 << 10


def open_init(config: Word2VecConfig) -> WordVectors | None:
    """Open the vectors to start from."""
    if config.init is None:
        return None
    init = load_vectors(config.init)
    refuse_unfit(init, config)
    return init


def refuse_unfit(init: WordVectors, config: Word2VecConfig) -> None:
    """Refuse vectors that this training cannot start from.

    Vectors with n-grams may start from vectors without, which become the words' own
    rows; the reverse would lose the n-grams.
    """
    if not isinstance(init.matrix, np.ndarray):
        raise SettingError(f"`init={init.name}`: its vectors are sparse; pass a run of dense ones")
    n_words, dim = init.matrix.shape
    if config.max_vocabulary is not None and config.max_vocabulary < n_words:
        raise SettingError(
            f"`max_vocabulary={config.max_vocabulary}` is smaller than the vocabulary of "
            f"{init.name} ({n_words} words), which stays whole; pass `max_vocabulary={n_words}` "
            "or more"
        )
    if dim != config.dim:
        raise SettingError(
            f"`dim={config.dim}` differs from the {dim} dimensions of {init.name}; pass `dim={dim}`"
        )
    table = init.subwords
    if table is not None and (table.shortest, table.longest, table.n_buckets) != config.ngrams:
        raise SettingError(
            f"`init={init.name}`: was trained with `subwords={table.shortest}-{table.longest}` "
            f"`buckets={table.n_buckets}`; pass the same"
        )


def init_fingerprint(init: WordVectors) -> str:
    """Name the vectors to start from, so that only the same training goes on."""
    digest = hashlib.sha256(repr(init.matrix.shape).encode())
    digest.update(init.matrix[:: max(1, len(init.matrix) // 1000)].tobytes())
    digest.update("\n".join(init.vocabulary).encode(errors="backslashreplace"))
    return digest.hexdigest()[:16]


def initial_tables(
    words: Sequence[str], dim: int, seed: int, init: WordVectors | None, buckets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Make the two tables that word2vec trains.

    Vectors to start from are taken as they are: those of SVD or of a file may be
    much longer or shorter than word2vec's own, and are not scaled.
    """
    # buckets: int64 (B,); returns inputs: float32 (V + B, D); returns contexts: float32 (V, D)
    n_words = len(words)
    inputs = _uniform((n_words + len(buckets), dim), 1 / dim, seed)
    contexts = np.zeros((n_words, dim), np.float32)  # takes no memory before it is written
    if init is not None:
        rows, places = _shared(words, init)
        _copy_own(init, words, rows, places, inputs)
        _copy_contexts(init, rows, places, contexts)
        if init.subwords is not None:
            _copy_ngrams(init, init.subwords, buckets, inputs[n_words:])
    return inputs, contexts


def _uniform(shape: tuple[int, int], bound: float, seed: int) -> np.ndarray:
    """Uniform in [-bound, bound), float32, filled row by row in place."""
    table = np.empty(shape, np.float32)
    # keyed by the seed alone: no thread has a part in it
    np.random.Generator(np.random.Philox(seed)).random(out=table, dtype=np.float32)
    table -= np.float32(0.5)
    table *= np.float32(2 * bound)
    return table


def _shared(words: Sequence[str], init: WordVectors) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the words that both have: in the text, in the vectors."""
    index = index_words(init.vocabulary)
    places = np.array([index.get(word, -1) for word in words], dtype=np.int64)
    rows = np.flatnonzero(places >= 0)
    return rows, places[rows]


def _copy(
    init: WordVectors, table: np.ndarray, rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Copy rows of a table that may lie on disk; each must be of numbers."""
    for start, stop in _blocks(len(rows), _BLOCK):
        _put(init, table[places[start:stop]], rows[start:stop], out)


def _copy_own(
    init: WordVectors, words: Sequence[str], rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Copy the words' own rows, which are not their vectors where those are of n-grams too."""
    run = init.path
    if init.subwords is None:
        _copy(init, init.matrix, rows, places, out)
    elif run is not None:
        _copy(init, np.load(run / INPUTS, mmap_mode="r", allow_pickle=False), rows, places, out)
    else:
        for start, stop in _blocks(len(rows), _NGRAMS_BLOCK):
            some = [words[row] for row in rows[start:stop].tolist()]
            own = _own_rows(init.matrix[places[start:stop]], some, init.subwords)
            _put(init, own, rows[start:stop], out)


def _copy_contexts(
    init: WordVectors, rows: np.ndarray, places: np.ndarray, contexts: np.ndarray
) -> None:
    """Copy the context vectors, where there are any."""
    found = init.contexts
    if found is not None:
        _copy(init, found, rows, places, contexts)


def _copy_ngrams(
    init: WordVectors, table: SubwordTable, buckets: np.ndarray, out: np.ndarray
) -> None:
    """Copy the rows of the buckets that both have."""
    if table.buckets is None:
        _copy(init, table.rows, np.arange(len(buckets)), buckets, out)
    else:
        _, rows, places = np.intersect1d(
            buckets, table.buckets, assume_unique=True, return_indices=True
        )
        _copy(init, table.rows, rows, places, out)


def _own_rows(vectors: np.ndarray, words: list[str], table: SubwordTable) -> np.ndarray:
    """The own rows of words, from their vectors, which are means of own row and n-grams."""
    starts, buckets = word_buckets(words, table.shortest, table.longest, table.n_buckets)
    counts = np.diff(starts)
    own: np.ndarray = vectors * (counts[:, None] + 1.0)  # float64: what remains is a difference
    if len(buckets):
        some = counts > 0  # reduceat knows no empty range
        own[some] -= np.add.reduceat(table.rows[buckets], starts[:-1][some], dtype=np.float64)
    return own.astype(np.float32)


def _put(init: WordVectors, values: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Write rows that hold numbers; training would spread anything else over all others."""
    if not np.isfinite(values).all():
        raise ArtifactError(f"{init.name}: holds NaN or infinity, from which no training can start")
    out[rows] = values


def _blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Starts and stops."""
    for start in range(0, n, size):
        yield start, min(start + size, n)
