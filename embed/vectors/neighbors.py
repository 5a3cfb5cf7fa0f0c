"""Nearest words, similarities and analogies of dense or sparse vectors; exact, not approximate."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firth.corpora.common.display import Table, TableList
from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.text.spelling import did_you_mean
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.opened import VectorSource, opened
from firth.embed.vectors.search import exact_products, top_rows, unit_length, unit_rows

METHODS = ("3cosadd", "3cosmul")
_EPSILON = 0.001  # Levy & Goldberg 2014, section 4


class Neighbor(NamedTuple):
    """A word and its score: the cosine, or the score of the analogy method."""

    word: str
    score: float


class Neighbors(TableList):
    """Neighbors of one word or answers to one analogy, best first: a list shown as a table."""

    _columns = Neighbor._fields


class NeighborLists(TableList):
    """The neighbors of each of some words: a list of lists shown as one table."""

    def __init__(self, words: Sequence[str], found: Sequence[Table]) -> None:
        super().__init__(found)
        self.words = list(words)

    def _records(self) -> list[dict[str, Any]]:
        pairs = zip(self.words, self, strict=True)
        return [{"of": word, **row} for word, found in pairs for row in found._records()]


def nearest(vectors: VectorSource, words: str | Sequence[str], k: int = 10) -> list[Neighbors]:
    """Find the words nearest to each of some words by cosine.

    Parameters
    ----------
    vectors : StaticVectors, str or path
        Dense or sparse; a path is that of a run or of a file of vectors.
    words : str or sequence of str
        One or several words that have a vector, possibly composed of n-grams. Several are
        answered in one pass over the matrix.
    k : int
        Neighbors per word, at least 1; fewer if the vocabulary is smaller.

    Returns
    -------
    list of Neighbors
        One list of (word, cosine) per word, best first, ties by row, without the word itself.

    Raises
    ------
    UnknownWordError
        If a word has no vector; the message suggests close spellings.

    Examples
    --------
    >>> from firth.embed.vectors.word_vectors import WordVectors
    >>> vectors = WordVectors(["a", "b", "c"], np.array([[1, 0], [3, 4], [0, 1]], np.float32))
    >>> nearest(vectors, ["a"], k=1)
    [[Neighbor(word='b', score=0.6)]]
    """
    source: StaticVectors = opened(vectors)
    words = [words] if isinstance(words, str) else words
    return NeighborLists(words, nearest_to(source, *unit_queries(source, words), k))


def nearest_to(
    vectors: StaticVectors, units: Any, rows: Sequence[int | None], k: int = 10
) -> list[Neighbors]:
    """Find the words nearest to each of some vectors by cosine."""
    # units: float64 (n, D) or scipy.sparse CSR (n, D)
    without = [[] if row is None else [row] for row in rows]
    found = top_rows(vectors.matrix, units, k, exclude=without)
    return [named(vectors, rows, scores) for rows, scores in found]


def similarity(vectors: VectorSource, a: str, b: str) -> float:
    """Compute the cosine of two words.

    Parameters
    ----------
    vectors : StaticVectors, str or path
        Dense or sparse; a path is that of a run or of a file of vectors.
    a, b : str
        Words that have a vector.

    Returns
    -------
    float
        Between -1 and 1, computed in float64; 0 if either vector is zero.

    Raises
    ------
    UnknownWordError
        If a word has no vector; the message suggests close spellings.
    """
    units, _ = unit_queries(opened(vectors), [a, b])
    return float(np.clip(exact_products(units[:1], units[1:])[0, 0], -1.0, 1.0))


def analogy(
    vectors: VectorSource, a: str, b: str, c: str, k: int = 10, method: str = "3cosadd"
) -> Neighbors:
    """Answer "a is to b as c is to which word?".

    Levy & Goldberg 2014 ("Linguistic Regularities in Sparse and Explicit Word
    Representations"): 3CosAdd (their eq. 3) finds the word nearest to
    b - a + c, each of unit length; the score is the cosine with that sum.
    3CosMul (eq. 4) maximizes cos(d, b) cos(d, c) / (cos(d, a) + 0.001)
    with cosines shifted to (x + 1) / 2.

    Parameters
    ----------
    vectors : StaticVectors, str or path
        Dense or sparse; a path is that of a run or of a file of vectors.
    a, b, c : str
        Words that have a vector; they are excluded from the answers.
    k : int
        Number of answers, at least 1.
    method : {"3cosadd", "3cosmul"}
        Scoring method.

    Returns
    -------
    Neighbors
        List of (word, score), best first, ties by row.

    Raises
    ------
    UnknownWordError
        If a word has no vector; the message suggests close spellings.
    SettingError
        If the method is unknown or k is below 1.
    """
    if method not in METHODS:
        raise SettingError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    source: StaticVectors = opened(vectors)
    units, rows = unit_queries(source, [a, b, c])
    without = [[row for row in rows if row is not None]]
    if method == "3cosadd":
        target = unit_length(units[1:2] - units[:1] + units[2:])
        [found] = top_rows(source.matrix, target, k, exclude=without)
    else:
        [found] = top_rows(source.matrix, units, k, exclude=without, combine=multiplied)
    return named(source, *found)


def unit_queries(vectors: StaticVectors, words: Sequence[str]) -> tuple[Any, list[int | None]]:
    """Return the unit vectors of words, composed of n-grams for unseen words."""
    # returns units: float64 (n, D) or scipy.sparse CSR (n, D)
    words = [known_word(vectors, word) for word in words]
    rows = [vectors.row(word) for word in words]
    known = [row for row in rows if row is not None]
    unseen = [place for place, row in enumerate(rows) if row is None]
    if not unseen:
        return unit_rows(vectors.matrix, known), rows
    composed = np.array([vector_of(vectors, words[place]) for place in unseen], dtype=np.float64)
    units = np.empty((len(rows), composed.shape[1]))
    units[unseen] = unit_length(composed)
    units[[place for place, row in enumerate(rows) if row is not None]] = unit_rows(
        vectors.matrix, known
    )
    return units, rows


def known_word(vectors: StaticVectors, text: str) -> str:
    """Return the word of the vocabulary that a text spells; the text if there is none."""
    words = [text] if vectors.row(text) is not None else vectors.words(text)
    return words[0] if len(words) == 1 else text


def vector_of(vectors: StaticVectors, word: str) -> np.ndarray:
    """Return the vector of a word; raise UnknownWordError if it has none."""
    # returns float32 (D,)
    vector = vectors.vector(known_word(vectors, word))
    if vector is not None:
        return vector
    name = getattr(vectors, "name", "vectors")
    otherwise = "pass one word at a time" if " " in word else "check the spelling"
    offer = did_you_mean(word, vectors.vocabulary, otherwise)
    raise UnknownWordError(f"{name}: no vector for {word!r}; {offer}")


def multiplied(cosines: np.ndarray) -> np.ndarray:
    """Return 3CosMul of cosines whose rows are a, b, c, a, b, c, ..."""
    shifted = (cosines + 1.0) / 2.0
    return np.asarray(shifted[1::3] * shifted[2::3] / (shifted[0::3] + _EPSILON))


def named(vectors: StaticVectors, rows: np.ndarray, scores: np.ndarray) -> Neighbors:
    """Return the words of rows with their scores."""
    return Neighbors(
        Neighbor(vectors.vocabulary[row], score)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    )
