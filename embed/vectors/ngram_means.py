"""Vectors of character n-grams: the mean vectors of the words that have them.

Words that are spelled alike share n-grams, so the mean of a word's n-grams says what its spelling
tells of it, and estimates the vector of a word that is not in the vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.common.errors import ArtifactError
from firth.embed.vectors.run_files import open_array
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.subwords import SubwordTable, word_buckets

NGRAM_MEANS, NGRAM_BUCKETS = "ngram-means.npy", "ngram-buckets.npy"
_SHORTEST, _LONGEST = 3, 6
_HASHES = 1 << 32  # all of them: n-grams hardly ever share one
_FEWEST = 5  # words of an n-gram
_PRIOR = 10  # words with a vector of zero, added to each mean, so that rare n-grams count less
_AT_ONCE = 1 << 12  # words
_SHARE = 0.5  # length of the mean of a word's n-grams, its own vector having 1


class NgramMeans:
    """N-gram vectors of a run whose words have theirs appended."""

    made_of = "n-grams"

    def __init__(self, rows: np.ndarray, buckets: np.ndarray, dim: int, name: str) -> None:
        # rows: float32 (B, W); buckets: int64 (B,); dim is the width of the run's vectors
        if 2 * rows.shape[1] > dim:
            raise ArtifactError(
                f"{name}: n-grams of {rows.shape[1]} dimensions do not fit vectors of {dim}, which "
                "have theirs appended; train the run again"
            )
        self.rows, self.dim, self.name = rows, dim, name
        self._table = SubwordTable(
            rows, buckets, n_buckets=_HASHES, shortest=_SHORTEST, longest=_LONGEST, name=name
        )

    @classmethod
    def open(cls, run: Path, dim: int) -> "NgramMeans | None":
        """Open the n-grams of a run, memory-mapped; None if it has none."""
        if not (run / NGRAM_MEANS).is_file():
            return None
        rows = open_array(run / NGRAM_MEANS, np.float32, 2)
        return cls(rows, open_array(run / NGRAM_BUCKETS, np.int64, 1), dim, str(run))

    def save(self, run: Path) -> None:
        """Write the n-grams."""
        assert self._table.buckets is not None
        save_array(run / NGRAM_MEANS, self.rows)
        save_array(run / NGRAM_BUCKETS, self._table.buckets)

    def compose_all(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of unseen words, float32 (n, dim), the mean of their n-grams' rows.

        It stands for the word's own vector as well as for that of its n-grams, and nothing for its
        neighbors; 0 if no n-gram is known.
        """
        means = self._table.compose_all(words)
        between = np.zeros((len(words), self.dim - 2 * means.shape[1]), np.float32)
        return np.concatenate([means, between, _SHARE * means], axis=1)

    def in_memory(self, name: str | None = None) -> "NgramMeans":
        """Read the rows into memory."""
        table = self._table.in_memory(name)
        assert table.buckets is not None
        return NgramMeans(table.rows, table.buckets, self.dim, table.name)


def with_ngram_means(
    vectors: np.ndarray, words: Sequence[str], width: int, name: str
) -> tuple[np.ndarray, NgramMeans]:
    """Return vectors with the centered mean of each word's n-grams appended, and the n-grams."""
    import scipy.sparse as sp  # lazy: queries do without it

    # vectors: float32 (V, D); returns float32 (V, D + width)
    starts, hashes = word_buckets(words, _SHORTEST, _LONGEST, _HASHES)
    buckets, places, n_words = np.unique(hashes, return_inverse=True, return_counts=True)
    frequent = n_words >= _FEWEST
    shape = len(words), len(buckets)
    has = sp.csr_matrix((np.ones(len(places), np.float32), places, starts), shape)[:, frequent]
    own = unit_length(vectors[:, :width])
    own -= own.mean(axis=0)
    rows = has.T @ own
    rows /= n_words[frequent, None] + _PRIOR
    del own, hashes, places  # the result needs their memory
    n, dim = vectors.shape
    appended = np.empty((n, dim + width), np.float32)
    for start in range(0, n, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        lengths = _SHARE * np.linalg.norm(vectors[part, :width], axis=1, keepdims=True)
        appended[part, :dim] = vectors[part]
        appended[part, dim:] = lengths * unit_length(has[part] @ rows)
    grams = NgramMeans(rows, buckets[frequent], appended.shape[1], name)
    return appended, grams
