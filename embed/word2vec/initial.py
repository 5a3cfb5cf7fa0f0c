"""Where the training of predictive vectors starts: small chance values, or earlier vectors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from corpora.common.errors import ArtifactError, SettingError
from embed.vectors.context_vectors import open_contexts, run_directory
from embed.vectors.subwords import SubwordTable, word_buckets
from embed.vectors.word_vectors import INPUTS, WordVectors
from embed.vectors.wordlist import index_words
from embed.word2vec.training_text import TrainingText

_BLOCK = 1 << 14
_NGRAMS_BLOCK = 1 << 10


class Ngrams(NamedTuple):
    """What makes one table of character n-grams fit another.

    Attributes
    ----------
    shortest, longest : int
        Length of n-grams in characters.
    n_buckets : int
        Size of the hash table.
    """

    shortest: int
    longest: int
    n_buckets: int


def refuse_other_kind(init: WordVectors, dim: int, ngrams: Ngrams | None = None) -> None:
    """Refuse vectors that a training cannot start from.

    Parameters
    ----------
    init : WordVectors
        What to start from.
    dim : int
        D of the vectors to be trained.
    ngrams : Ngrams, optional
        Their character n-grams. Vectors with n-grams may start from vectors
        without, which become the words' own rows; the reverse would lose the n-grams.

    Raises
    ------
    SettingError
        Dimensions or n-grams differ.
    """
    if init.matrix.shape[1] != dim:
        raise SettingError(
            f"--dim {dim} differs from the {init.matrix.shape[1]} dimensions of {init.name}; pass "
            f"--dim {init.matrix.shape[1]}"
        )
    table = init.subwords
    if table is not None and (table.shortest, table.longest, table.n_buckets) != ngrams:
        raise SettingError(
            f"--init {init.name}: was trained with --subwords {table.shortest}-{table.longest} "
            f"--buckets {table.n_buckets}; pass the same"
        )


def initial_tables(
    text: TrainingText, dim: int, seed: int, init: WordVectors | None
) -> tuple[np.ndarray, np.ndarray]:
    """Make the two tables that word2vec trains.

    Vectors to start from are taken as they are: those of SVD or of a file may be
    much longer or shorter than word2vec's own, and are not scaled.

    Parameters
    ----------
    text : TrainingText
        Its words are the rows.
    dim : int
        D.
    seed : int
        At least 0.
    init : WordVectors, optional
        Whose words keep their vectors, and their context vectors where it has some.

    Returns
    -------
    vectors : float32 (V, D)
        New words uniform in [-1 / D, 1 / D), as in gensim; a function of
        ``seed``, V and D alone.
    contexts : float32 (V, D)
        Zero for new words.

    Raises
    ------
    SettingError
        ``init`` has other dimensions, or n-grams.
    ArtifactError
        ``init`` holds NaN or infinity, or is damaged.
    """
    vectors = _uniform((len(text.words), dim), 1 / dim, seed)
    contexts = np.zeros(vectors.shape, np.float32)  # zeros_like() would touch all of it
    if init is not None:
        refuse_other_kind(init, dim)
        rows, places = _shared(text, init)
        _copy(init, init.matrix, rows, places, vectors)
        _copy_contexts(init, rows, places, contexts)
    return vectors, contexts


def initial_inputs(
    text: TrainingText,
    dim: int,
    seed: int,
    init: WordVectors | None,
    ngrams: Ngrams,
    buckets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Make the two tables that are trained with character n-grams.

    Parameters
    ----------
    text : TrainingText
        Its words are the first rows.
    dim : int
        D.
    seed : int
        At least 0.
    init : WordVectors, optional
        Whose words keep their own rows, and whose n-grams theirs; without n-grams,
        its vectors become the words' own rows.
    ngrams : Ngrams
        What the n-grams are.
    buckets : int64 (B,)
        Those with a row behind the words', ascending.

    Returns
    -------
    inputs : float32 (V + B, D)
        What is new is uniform in [-1 / D, 1 / D), as in fastText; a function of
        ``seed``, V + B and D alone.
    contexts : float32 (V, D)
        Zero for new words.

    Raises
    ------
    SettingError
        ``init`` has other dimensions, or other n-grams.
    ArtifactError
        ``init`` holds NaN or infinity, or is damaged.
    """
    n_words = len(text.words)
    inputs = _uniform((n_words + len(buckets), dim), 1 / dim, seed)
    contexts = np.zeros((n_words, dim), np.float32)
    if init is not None:
        refuse_other_kind(init, dim, ngrams)
        rows, places = _shared(text, init)
        _copy_own(init, text, rows, places, inputs)
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


def _shared(text: TrainingText, init: WordVectors) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the words that both have: in the text, in the vectors."""
    index = index_words(init.vocabulary)
    places = np.array([index.get(word, -1) for word in text.words], dtype=np.int64)
    rows = np.flatnonzero(places >= 0)
    return rows, places[rows]


def _copy(
    init: WordVectors, table: np.ndarray, rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Copy rows of a table that may lie on disk; each must be of numbers."""
    for start, stop in _blocks(len(rows), _BLOCK):
        _put(init, table[places[start:stop]], rows[start:stop], out)


def _copy_own(
    init: WordVectors, text: TrainingText, rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Copy the words' own rows, which are not their vectors where those are of n-grams too."""
    run = run_directory(init)
    if init.subwords is None:
        _copy(init, init.matrix, rows, places, out)
    elif run is not None:
        _copy(init, np.load(run / INPUTS, mmap_mode="r", allow_pickle=False), rows, places, out)
    else:
        for start, stop in _blocks(len(rows), _NGRAMS_BLOCK):
            words = [text.words[row] for row in rows[start:stop].tolist()]
            own = _own_rows(init.matrix[places[start:stop]], words, init.subwords)
            _put(init, own, rows[start:stop], out)


def _copy_contexts(
    init: WordVectors, rows: np.ndarray, places: np.ndarray, contexts: np.ndarray
) -> None:
    """Copy the context vectors, where there are any."""
    found = open_contexts(init)
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
