"""Look up words of evaluation sets in vectors: rows, composed vectors, substitutes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.segment import TextSettings
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.run_files import not_finite
from firth.embed.vectors.search import nonzero_rows, unit_length


@dataclass(frozen=True)
class FoundWords:
    """Rows and composed vectors of the words of evaluation sets."""

    # text -> its row; V + i for the i-th vector of ``composed``; -1 without any vector
    rows: dict[str, int]
    unseen: list[str]  # words without a row, whose vectors are the first of ``composed``
    # float32 (n, D): vectors of ``unseen``, then the substitute for unknown words if there is one;
    # scipy.sparse CSR if the matrix is
    composed: Any
    n_words: int  # V, the number of rows

    def places(self, texts: Iterable[str]) -> np.ndarray:
        """Return the rows of texts, int64 (n,)."""
        return np.array([self.rows[text] for text in texts], dtype=np.int64)

    def has_composed(self, places: np.ndarray) -> np.ndarray:
        """Return which items have a word with a composed vector."""
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
    """Look up words as an evaluation set spells them.

    A text is known if the vectors' segmentation leaves one word with a vector or, with ``phrases``,
    several. Unknown ones get the ``zero`` or ``mean`` vector, if that is asked for.
    """
    search = _Search(vectors)
    rows = {text: search.word(text) for text in dict.fromkeys(texts)}
    if phrases:
        rows |= {text: search.phrase(text) for text, row in rows.items() if row < 0}
    composed = list(search.composed)
    if unknown != "skip" and min(rows.values(), default=0) < 0:
        composed.append(_substitute(vectors, unknown))
        rows = {
            text: row if row >= 0 else search.n_words + len(search.unseen)
            for text, row in rows.items()
        }
    return FoundWords(
        rows, list(search.unseen), stacked([vectors.matrix[:0], *composed]), search.n_words
    )


def join_phrases(source: Any, words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Join phrases as the corpus of vectors or of an encoder did: ``TextSettings.join_phrases``."""
    text = getattr(source, "text", None)
    if isinstance(text, TextSettings) and text.joined_phrases:
        return text.join_phrases(words)
    # a list may also have the text that it was read from
    return words if isinstance(words, list) else list(words), [1] * len(words)


def join_written(vectors: Any, words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Join phrases of words as they are written; the other words stay as they are."""
    if not getattr(getattr(vectors, "text", None), "joined_phrases", ()):
        return list(words), [1] * len(words)
    read = [cut[0] if len(cut) == 1 else word for word in words for cut in [vectors.words(word)]]
    joined, lengths = join_phrases(vectors, read)
    starts = offsets_of(lengths)[:-1].tolist()
    written = zip(joined, lengths, starts, strict=True)
    return [phrase if n > 1 else words[start] for phrase, n, start in written], lengths


def has_zero(vectors: StaticVectors, places: np.ndarray) -> np.ndarray:
    """Return which items have a vocabulary word with a zero vector."""
    # places: int64 (n, k); returns bool (n,)
    rows = np.unique(places)
    rows = rows[(rows >= 0) & (rows < vectors.matrix.shape[0])]
    return np.any(np.isin(places, rows[~nonzero_rows(vectors.matrix[rows])]), axis=1)


def finite_units(vectors: StaticVectors, rows: np.ndarray, composed: Any = None) -> Any:
    """Return :func:`raw_rows` at unit length."""
    return unit_length(raw_rows(vectors, rows, composed))


def raw_rows(vectors: StaticVectors, rows: np.ndarray, composed: Any = None) -> Any:
    """Return rows, from V on of ``composed``; raise ArtifactError for NaN."""
    # rows: int64 (n,); composed: float32 (m, D); returns float64 (n, D); CSR if the matrix is
    n_words = vectors.matrix.shape[0]
    inside = rows < n_words
    if composed is not None and not inside.all():
        known = raw_rows(vectors, rows[inside])
        others = composed[rows[~inside] - n_words].astype(np.float64)
        order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
        return stacked([known, others])[np.argsort(order)]
    taken = vectors.matrix[rows].astype(np.float64)
    sums = np.asarray(taken.sum(axis=1)).ravel()
    if not np.isfinite(sums).all():
        raise not_finite(_name(vectors), vectors.vocabulary[int(rows[~np.isfinite(sums)][0])])
    return taken


def _name(vectors: StaticVectors) -> str:
    """Return the name of vectors in messages."""
    return getattr(vectors, "name", "vectors")


class _Search:
    """Looks up words and collects composed vectors of words without a row."""

    def __init__(self, vectors: StaticVectors) -> None:
        self.vectors = vectors
        self.n_words = vectors.matrix.shape[0]
        self.unseen: dict[str, int] = {}
        self.composed: list[Any] = []

    def word(self, text: str) -> int:
        """Return the row of a text that is one word; -1 if it has no vector."""
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
        """Add the mean vector of a text's words and return its row; -1 if any is unknown."""
        parts = re.split(r"[_\s]+", text.strip("_ "))
        words = [self.vectors.words(part) for part in parts]
        if len(parts) < 2 or any(len(word) != 1 for word in words):
            return -1
        found = [self.vectors.vector(word) for [word] in words]
        rows = [vector for vector in found if vector is not None]
        return self._keep(text, np.mean(rows, axis=0)) if len(rows) == len(parts) else -1

    def _keep(self, word: str, vector: np.ndarray) -> int:
        """Add a composed vector and return its row."""
        if not np.isfinite(vector).all():
            raise not_finite(_name(self.vectors), word)
        self.composed.append(_as_row(vector.astype(np.float32), self.vectors.matrix))
        return self.unseen.setdefault(word, self.n_words + len(self.unseen))


def _substitute(vectors: StaticVectors, unknown: str) -> Any:
    """Return the vector used for all unknown words."""
    matrix = vectors.matrix
    if unknown == "zero":
        return _as_row(np.zeros(matrix.shape[1], dtype=np.float32), matrix)
    mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
    if not np.isfinite(mean).all():
        finite_units(vectors, np.arange(matrix.shape[0]))  # raises with the word's name
    return _as_row(mean.astype(np.float32), matrix)


def _as_row(vector: np.ndarray, matrix: Any) -> Any:
    """Return a vector as a one-row matrix, sparse if ``matrix`` is."""
    if is_dense(matrix):
        return vector[None]
    import scipy.sparse

    return scipy.sparse.csr_matrix(vector[None])


def stacked(parts: Sequence[Any]) -> Any:
    """Stack matrices vertically."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import scipy.sparse

    return scipy.sparse.csr_matrix(scipy.sparse.vstack(parts))
