"""Nearest words, similarities and analogies, of dense or sparse vectors.

Exact: see :mod:`embed.vectors.search` for the pass over the matrix that all share.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from corpora.common.errors import SettingError, UnknownWordError
from embed.protocols import StaticVectors
from embed.vectors.search import exact_products, top_rows, unit_length, unit_rows
from embed.vectors.spelling import close_spellings

METHODS = ("3cosadd", "3cosmul")
_EPSILON = 0.001  # Levy & Goldberg 2014, section 4


class Neighbor(NamedTuple):
    """A word and its score: a cosine, or what an analogy method gives."""

    word: str
    score: float


def nearest(
    vectors: StaticVectors, words: str | Sequence[str], k: int = 10
) -> list[list[Neighbor]]:
    """Find the words nearest to each of some words by cosine.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    words : str or sequence of str
        A word that has a vector, though perhaps a composed one, or several; all are
        answered by one pass over the matrix.
    k : int
        Neighbours per word, at least 1; fewer where the vocabulary ends.

    Returns
    -------
    list of list of Neighbor
        Per word, best first, ties by row; the word itself excluded.

    Raises
    ------
    UnknownWordError
        A word has no vector; close spellings are offered.
    """
    words = [words] if isinstance(words, str) else words
    return nearest_to(vectors, *unit_queries(vectors, words), k)


def nearest_to(
    vectors: StaticVectors, units: Any, rows: Sequence[int | None], k: int = 10
) -> list[list[Neighbor]]:
    """Find the words nearest to each of some vectors by cosine."""
    # units: float64 (n, D) or scipy.sparse CSR (n, D)
    without = [[] if row is None else [row] for row in rows]
    found = top_rows(vectors.matrix, units, k, exclude=without)
    return [_named(vectors, rows, scores) for rows, scores in found]


def similarity(vectors: StaticVectors, a: str, b: str) -> float:
    """Compute the cosine of two words.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    a, b : str
        Words that have a vector.

    Returns
    -------
    float
        Between -1 and 1, in float64; 0 when either vector is zero.

    Raises
    ------
    UnknownWordError
        A word has no vector; close spellings are offered.
    """
    units, _ = unit_queries(vectors, [a, b])
    return float(np.clip(exact_products(units[:1], units[1:])[0, 0], -1.0, 1.0))


def analogy(
    vectors: StaticVectors, a: str, b: str, c: str, k: int = 10, method: str = "3cosadd"
) -> list[Neighbor]:
    """Answer "a is to b as c is to which word?".

    Levy & Goldberg 2014 ("Linguistic Regularities in Sparse and Explicit Word
    Representations"): 3CosAdd (their eq. 3) takes the word nearest to
    b - a + c, all of unit length; the score given is the cosine with that sum.
    3CosMul (eq. 4) takes the largest cos(d, b) cos(d, c) / (cos(d, a) + 0.001)
    with cosines shifted to (x + 1) / 2.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    a, b, c : str
        Words that have a vector; none of them is an answer.
    k : int
        Answers, at least 1.
    method : {"3cosadd", "3cosmul"}
        How to score.

    Returns
    -------
    list of Neighbor
        Best first, ties by row.

    Raises
    ------
    UnknownWordError
        A word has no vector; close spellings are offered.
    SettingError
        The method is unknown or k is below 1.
    """
    if method not in METHODS:
        raise SettingError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    units, rows = unit_queries(vectors, [a, b, c])
    without = [[row for row in rows if row is not None]]
    if method == "3cosadd":
        target = unit_length(units[1:2] - units[:1] + units[2:])
        [found] = top_rows(vectors.matrix, target, k, exclude=without)
    else:
        [found] = top_rows(vectors.matrix, units, k, exclude=without, combine=_multiplied)
    return _named(vectors, *found)


def unit_queries(vectors: StaticVectors, words: Sequence[str]) -> tuple[Any, list[int | None]]:
    """Take the vectors of words at unit length, those of unseen words composed of n-grams."""
    # returns units: float64 (n, D) or scipy.sparse CSR (n, D)
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


def vector_of(vectors: StaticVectors, word: str) -> np.ndarray:
    """Give the vector of a word that must have one."""
    # returns float32 (D,)
    vector = vectors.vector(word)
    if vector is not None:
        return vector
    name = getattr(vectors, "name", "vectors")
    close = close_spellings(word, vectors.vocabulary)
    offer = f"did you mean {' or '.join(map(repr, close))}?" if close else "check the spelling"
    raise UnknownWordError(f"{name}: no vector for {word!r}; {offer}")


def _multiplied(cosines: np.ndarray) -> np.ndarray:
    """3CosMul of cosines whose rows are a, b, c, a, b, c, ..."""
    shifted = (cosines + 1.0) / 2.0
    scores: np.ndarray = shifted[1::3] * shifted[2::3] / (shifted[0::3] + _EPSILON)
    return scores


def _named(vectors: StaticVectors, rows: np.ndarray, scores: np.ndarray) -> list[Neighbor]:
    """Rows and scores as words and numbers."""
    return [
        Neighbor(vectors.vocabulary[row], score)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    ]
