"""Learnt probes: how easily labels can be read off frozen vectors (Alain and Bengio 2016).

What probes share: what they learn from, what is learnt, and the scale of vectors. All are learnt in
one thread (:mod:`embed.compare.probes.one_thread`), so that they are the same bytes for the same
vectors, labels and seed on one machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_ROWS = 1 << 14  # read at a time


STATIC = "static"  # the source of what a probe sees where words have one vector each


@dataclass(frozen=True, eq=False)
class Examples:
    """Words with their labels.

    Attributes
    ----------
    rows : int64 (n, w)
        Of a table: the vectors that a probe sees for each word.
    labels : int64 (n,)
        From 0; -1 for a label that no probe is to answer. One that was held out whole has a
        number, too, though no training example has it.
    """

    rows: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Bags:
    """Sentences as rows of a table of vectors.

    Attributes
    ----------
    rows : int64 (n_words,)
        The row of each word, sentence after sentence.
    offsets : int64 (n_sentences + 1,)
        Sentence s is ``rows[offsets[s]:offsets[s + 1]]``; it may be empty.
    """

    rows: np.ndarray
    offsets: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence, int64 (n_sentences,)."""
        return np.diff(self.offsets)

    def take(self, sentences: np.ndarray) -> "Bags":
        """Give some of the sentences.

        Parameters
        ----------
        sentences : int64 (n,)
            Their numbers.

        Returns
        -------
        Bags
            In that order.

        Examples
        --------
        >>> bags = Bags(np.array([7, 8, 9]), np.array([0, 2, 2, 3]))
        >>> bags.take(np.array([2, 0])).rows.tolist()
        [9, 7, 8]
        """
        lengths = self.lengths[sentences]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Bags(self.rows[np.repeat(self.offsets[sentences], lengths) + inside], offsets)


@dataclass(frozen=True, eq=False)
class Learnt:
    """A probe that was learnt.

    Attributes
    ----------
    answer : callable
        Gives the label, int64 (n,), of rows (n, w) as those of :class:`Examples`.
    accuracy : float
        On the development part.
    decay : float
        The weight decay that is best there.
    epochs : int
        Rounds over the training part after which it is best there; iterations of a linear probe.
    """

    answer: Callable[[np.ndarray], np.ndarray]
    accuracy: float
    decay: float
    epochs: int


def layer_source(layer: int) -> str:
    """Name the states of a layer as a source of what a probe sees.

    Parameters
    ----------
    layer : int
        Of an encoder.

    Returns
    -------
    str
        Such as ``layer 3``.
    """
    return f"layer {layer}"


def told_of_source(source: str) -> str:
    """Say which source was chosen, where there was a choice.

    Parameters
    ----------
    source : str
        :data:`STATIC`, or of :func:`layer_source`.

    Returns
    -------
    str
        The beginning of a remark; empty of static vectors.
    """
    return "" if source == STATIC else f"{source} is best on the development part; "


def standardized(table: Any, rows: np.ndarray, n_marks: int = 0) -> Any:
    """Bring vectors to one scale, so that one weight decay suits them all.

    Parameters
    ----------
    table : float32 (R, D) or scipy.sparse CSR (R, D)
        A dense one is changed in place.
    rows : int64 (n,)
        The rows of the training words, repeated as often as they stand there.
    n_marks : int
        How many of the last dimensions are 0 or 1, or between, and stay so where all is dense: one
        that a single training word has would else be as large as all others together.

    Returns
    -------
    float32 (R, D) or scipy.sparse CSR (R, D)
        Dense: each dimension less its mean over those rows, divided by its standard deviation
        there; what is constant stays at that scale. Sparse: all divided by one number, so that
        the squared length is 1 in the mean.
    """
    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    if isinstance(table, np.ndarray):
        scaled = table[:, : table.shape[1] - n_marks]
        scaled -= _mean(shares, scaled).astype(np.float32)
        scaled /= scales(_mean(shares, scaled, squared=True))
        return table
    length = np.sqrt(sparse_mean_squares(shares, table).sum())
    return (table / (length or 1.0)).astype(np.float32)


def scales(squares: np.ndarray) -> np.ndarray:
    """What to divide dimensions by so that each has the same scale.

    Parameters
    ----------
    squares : float64 (D,)
        The mean square of each dimension.

    Returns
    -------
    float32 (D,)
        Its root; 1 where nothing varies.
    """
    roots = np.sqrt(squares)
    least = 1e-6 * roots.max(initial=0.0)  # below it lies what rounding leaves of a constant
    return np.where(roots > least, roots, 1.0).astype(np.float32)


def sparse_mean_squares(shares: np.ndarray, table: Any) -> np.ndarray:
    """Take the mean of the square of each dimension.

    Parameters
    ----------
    shares : float64 (R,)
        What each row counts; together 1.
    table : scipy.sparse CSR (R, D)
        Vectors.

    Returns
    -------
    float64 (D,)
    """
    return np.asarray(table.multiply(table).T @ shares)


def _mean(shares: np.ndarray, table: np.ndarray, *, squared: bool = False) -> np.ndarray:
    """The mean of each dimension, or of its square, some rows at a time."""
    total = np.zeros(table.shape[1])
    for start in range(0, len(table), _ROWS):
        part = table[start : start + _ROWS].astype(np.float64)
        total += shares[start : start + _ROWS] @ (part * part if squared else part)
    return total
