"""Initial tables of word2vec training: small random values, or earlier vectors."""

import hashlib
from collections.abc import Sequence

import numpy as np

from firth.corpora.artifacts.arrays import row_blocks
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.run_files import open_array
from firth.embed.vectors.subwords import SubwordTable, word_buckets
from firth.embed.vectors.word_vectors import INPUTS, WordVectors
from firth.embed.vectors.wordlist import shared_rows
from firth.embed.word2vec.config import Word2VecConfig

_COPIED = 1 << 21  # values written at a time
_COMPOSED_ROWS = 1 << 10  # rows of composed words at a time: each gathers its n-grams


def open_init(config: Word2VecConfig) -> WordVectors | None:
    """Open the vectors to start from, if any."""
    if config.init is None:
        return None
    init = load_vectors(config.init)
    check_init(init, config)
    return init


def check_init(init: WordVectors, config: Word2VecConfig) -> None:
    """Raise if training cannot start from these vectors.

    Training with n-grams can start from vectors without, which become the words' own
    rows; the reverse would lose the n-grams.
    """
    if not is_dense(init.matrix):
        raise SettingError(f"`init={init.name}`: its vectors are sparse; pass a run of dense ones")
    n_words, dim = init.matrix.shape
    if config.max_vocabulary is not None and config.max_vocabulary < n_words:
        raise SettingError(
            f"`max_vocabulary={config.max_vocabulary}` is smaller than the vocabulary of "
            f"{init.name} ({n_words} words), all of which are kept; pass "
            f"`max_vocabulary={n_words}` or more"
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
    """Return a hash of the vectors to start from, so that only the same training run is resumed."""
    digest = hashlib.sha256(repr(init.matrix.shape).encode())
    digest.update(init.matrix[:: max(1, len(init.matrix) // 1000)].tobytes())
    digest.update("\n".join(init.vocabulary).encode(errors="backslashreplace"))
    return digest.hexdigest()[:16]


def fill_tables(
    inputs: np.ndarray,
    contexts: np.ndarray,
    words: Sequence[str],
    seed: int,
    init: WordVectors | None,
    buckets: np.ndarray,
) -> None:
    """Write the initial values of both tables, of zeros; ``buckets`` are the n-gram buckets in use.

    Vectors to start from are not rescaled, although those of SVD or of a file may be
    much longer or shorter than word2vec's.
    """
    # inputs: float32 (V + B, D); contexts: float32 (V, D); buckets: int64 (B,)
    _fill_uniform(inputs, 1 / inputs.shape[1], seed)
    if init is None:
        return
    rows, init_rows = shared_rows(words, init.vocabulary)
    # the words' own rows, which differ from their vectors if there are n-grams
    if init.subwords is None:
        _copy(init, init.matrix, rows, init_rows, inputs)
    elif init.path is not None:
        _copy(init, open_array(init.path / INPUTS, np.float32, 2), rows, init_rows, inputs)
    else:
        for start in range(0, len(rows), _COMPOSED_ROWS):
            part = slice(start, start + _COMPOSED_ROWS)
            some = [words[row] for row in rows[part].tolist()]
            own = _own_rows(init.matrix[init_rows[part]], some, init.subwords)
            _write_finite(init, own, rows[part], inputs)
    if init.contexts is not None:
        _copy(init, init.contexts, rows, init_rows, contexts)
    if init.subwords is not None:
        _copy_ngrams(init, init.subwords, buckets, inputs[len(words) :])


def _fill_uniform(table: np.ndarray, bound: float, seed: int) -> None:
    """Fill a table with uniform random values in [-bound, bound)."""
    # depends on the seed alone, not on threads or blocks
    random = np.random.Generator(np.random.Philox(seed))
    for block in row_blocks(table):
        values = random.random(block.shape, dtype=np.float32)
        values -= np.float32(0.5)
        block[:] = values * np.float32(2 * bound)


def _copy(
    init: WordVectors, table: np.ndarray, rows: np.ndarray, init_rows: np.ndarray, out: np.ndarray
) -> None:
    """Copy rows of a table that may be memory-mapped; raise if any value is not finite."""
    size = max(1, _COPIED // table.shape[1])
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        _write_finite(init, table[init_rows[part]], rows[part], out)


def _copy_ngrams(
    init: WordVectors, table: SubwordTable, buckets: np.ndarray, out: np.ndarray
) -> None:
    """Copy the rows of the buckets in both tables."""
    if table.buckets is None:
        _copy(init, table.rows, np.arange(len(buckets)), buckets, out)
    else:
        _, rows, init_rows = np.intersect1d(
            buckets, table.buckets, assume_unique=True, return_indices=True
        )
        _copy(init, table.rows, rows, init_rows, out)


def _own_rows(vectors: np.ndarray, words: list[str], table: SubwordTable) -> np.ndarray:
    """Return the words' own rows, given vectors that are means of own row and n-gram rows."""
    starts, buckets = word_buckets(words, table.shortest, table.longest, table.n_buckets)
    counts = np.diff(starts)
    own: np.ndarray = vectors * (counts[:, None] + 1.0)  # float64, because a sum is subtracted
    if len(buckets):
        some = counts > 0  # reduceat does not support empty ranges
        own[some] -= np.add.reduceat(table.rows[buckets], starts[:-1][some], dtype=np.float64)
    return own.astype(np.float32)


def _write_finite(init: WordVectors, values: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Write rows; raise if a value is not finite, since training would spread it everywhere."""
    if not np.isfinite(values).all():
        raise ArtifactError(f"{init.name}: contains NaN or infinity, so training cannot start")
    out[rows] = values
