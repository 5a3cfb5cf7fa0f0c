"""Words of evaluation sets, looked up in vectors: rows, composed vectors, stand-ins."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.common.errors import ArtifactError
from embed.protocols import StaticVectors
from embed.vectors.search import unit_length, unit_rows


@dataclass(frozen=True)
class FoundWords:
    """Words of evaluation sets as some vectors know them."""

    # per text: its row; V + i where its vector is the i-th of ``composed``; -1 for a word without
    # any vector
    rows: dict[str, int]
    unseen: list[str]  # words without a row, whose vectors are the first of ``composed``
    # float32 (n, D): their vectors and, last where there is one, the vector that stands for all
    # unknown words; scipy.sparse CSR where the matrix is
    composed: Any
    n_words: int  # V: how many words have rows

    def places(self, texts: Iterable[str]) -> np.ndarray:
        """Look up texts, repeats and all."""
        # returns int64 (n,)
        return np.array([self.rows[text] for text in texts], dtype=np.int64)

    def has_composed(self, places: np.ndarray) -> np.ndarray:
        """Tell which items have a word whose vector is composed."""
        # places: int64 (n, k); returns bool (n,)
        ends = self.n_words + len(self.unseen)
        return np.any((places >= self.n_words) & (places < ends), axis=1)


def find_words(
    vectors: StaticVectors,
    texts: Iterable[str],
    unknown: str = "skip",
    *,
    phrases: bool = False,
) -> FoundWords:
    """Find words as an evaluation set writes them.

    A word passes through the vectors' own segmentation. It is known when that
    leaves exactly one word and this word has a vector, a row of the matrix or
    one composed of its n-grams.
    """
    search = _Search(vectors)
    rows = {text: search.word(text) for text in dict.fromkeys(texts)}
    if phrases:
        rows |= {text: search.phrase(text) for text, row in rows.items() if row < 0}
    composed = list(search.composed)
    if unknown != "skip" and min(rows.values(), default=0) < 0:
        composed.append(_stand_in(vectors, unknown))
        rows = {
            text: row if row >= 0 else search.n_words + len(search.unseen)
            for text, row in rows.items()
        }
    return FoundWords(
        rows, list(search.unseen), _stacked([vectors.matrix[:0], *composed]), search.n_words
    )


def has_zero(vectors: StaticVectors, places: np.ndarray) -> np.ndarray:
    """Tell which items have a word of the vocabulary whose vector is zero."""
    # places: int64 (n, k); returns bool (n,)
    rows = np.unique(places)
    rows = rows[(rows >= 0) & (rows < vectors.matrix.shape[0])]
    filled = np.asarray((vectors.matrix[rows] != 0).sum(axis=1)).ravel() > 0
    return np.any(np.isin(places, rows[~filled]), axis=1)


def finite_units(vectors: StaticVectors, rows: np.ndarray, composed: Any = None) -> Any:
    """Take vectors at unit length, none of which may hold NaN or infinity."""
    # rows: int64 (n,); composed: float32 (m, D) or scipy.sparse CSR (m, D); returns float64 (n, D)
    # or scipy.sparse CSR (n, D)
    n_words = vectors.matrix.shape[0]
    inside = rows < n_words
    if composed is not None and not inside.all():
        known = finite_units(vectors, rows[inside])
        others = unit_length(composed[rows[~inside] - n_words].astype(np.float64))
        order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
        return _stacked([known, others])[np.argsort(order)]
    taken = vectors.matrix[rows]
    sums = np.asarray(taken.sum(axis=1, dtype=np.float64)).ravel()
    if not np.isfinite(sums).all():
        raise _not_finite(vectors, vectors.vocabulary[int(rows[~np.isfinite(sums)][0])])
    return unit_rows(vectors.matrix, rows)


def _not_finite(vectors: StaticVectors, word: str) -> ArtifactError:
    """What to say of a vector that is no direction."""
    name = getattr(vectors, "name", "vectors")
    return ArtifactError(
        f"{name}: the vector of {word!r} holds NaN or infinity; make the run again"
    )


class _Search:
    """Looks words up and gathers the vectors of those that have no row."""

    def __init__(self, vectors: StaticVectors) -> None:
        self.vectors = vectors
        self.n_words = vectors.matrix.shape[0]
        self.unseen: dict[str, int] = {}
        self.composed: list[Any] = []

    def word(self, text: str) -> int:
        """The place of a text that is one word; -1 where it has no vector."""
        words = self.vectors.words(text)
        if len(words) != 1:
            return -1
        row = self.vectors.row(words[0])
        if row is None and words[0] not in self.unseen:
            vector = self.vectors.vector(words[0])
            if vector is not None:
                return self._keep(words[0], vector)
        return self.unseen.get(words[0], -1) if row is None else row

    def phrase(self, text: str) -> int:
        """The place of a text by the mean of its words; -1 where not all are known."""
        parts = re.split(r"[_\s]+", text.strip("_ "))
        words = [self.vectors.words(part) for part in parts]
        if len(parts) < 2 or any(len(word) != 1 for word in words):
            return -1
        found = [self.vectors.vector(word) for [word] in words]
        rows = [vector for vector in found if vector is not None]
        return self._keep(text, np.mean(rows, axis=0)) if len(rows) == len(parts) else -1

    def _keep(self, word: str, vector: np.ndarray) -> int:
        """The place of a vector behind the rows."""
        if not np.isfinite(vector).all():
            raise _not_finite(self.vectors, word)
        self.composed.append(_as_row(vector.astype(np.float32), self.vectors.matrix))
        return self.unseen.setdefault(word, self.n_words + len(self.unseen))


def _stand_in(vectors: StaticVectors, unknown: str) -> Any:
    """The vector of all unknown words."""
    matrix = vectors.matrix
    if unknown == "zero":
        return _as_row(np.zeros(matrix.shape[1], dtype=np.float32), matrix)
    mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
    if not np.isfinite(mean).all():
        finite_units(vectors, np.arange(matrix.shape[0]))  # names the word
    return _as_row(mean.astype(np.float32), matrix)


def _as_row(vector: np.ndarray, matrix: Any) -> Any:
    """A vector as a matrix of one row, sparse where the others are."""
    if isinstance(matrix, np.ndarray):
        return vector[None]
    import scipy.sparse

    return scipy.sparse.csr_matrix(vector[None])


def _stacked(parts: Sequence[Any]) -> Any:
    """Rows below rows."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import scipy.sparse

    return scipy.sparse.csr_matrix(scipy.sparse.vstack(parts))
