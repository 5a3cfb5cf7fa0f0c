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
    """Words with their labels."""

    rows: np.ndarray  # int64 (n, w): of a table: the vectors that a probe sees for each word
    # int64 (n,): from 0; -1 for a label that no probe is to answer. One that was held out whole
    # has a number, too, though no training example has it
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Bags:
    """Sentences as rows of a table of vectors."""

    rows: np.ndarray  # int64 (n_words,): the row of each word, sentence after sentence
    # int64 (n_sentences + 1,): sentence s is ``rows[offsets[s]:offsets[s + 1]]``; it may be empty
    offsets: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence, int64 (n_sentences,)."""
        return np.diff(self.offsets)

    def take(self, sentences: np.ndarray) -> "Bags":
        """Give some of the sentences."""
        # sentences: int64 (n,)
        lengths = self.lengths[sentences]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Bags(self.rows[np.repeat(self.offsets[sentences], lengths) + inside], offsets)


@dataclass(frozen=True, eq=False)
class TrainedProbe:
    """A probe that was learnt."""

    # gives the label, int64 (n,), of rows (n, w) as those of :class:`Examples`
    answer: Callable[[np.ndarray], np.ndarray]
    accuracy: float  # on the development part
    decay: float  # the weight decay that is best there
    # rounds over the training part after which it is best there; iterations of a linear probe
    epochs: int


def layer_source(layer: int) -> str:
    """Name the states of a layer as a source of what a probe sees."""
    return f"layer {layer}"


def source_note(source: str) -> str:
    """Say which source was chosen, where there was a choice."""
    return "" if source == STATIC else f"{source} is best on the development part; "


def standardized(table: Any, rows: np.ndarray, n_marks: int = 0) -> Any:
    """Bring vectors to one scale, so that one weight decay suits them all."""
    # table: float32 (R, D) or scipy.sparse CSR (R, D); rows: int64 (n,); returns float32 (R, D) or
    # scipy.sparse CSR (R, D)
    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    if isinstance(table, np.ndarray):
        scaled = table[:, : table.shape[1] - n_marks]
        scaled -= _mean(shares, scaled).astype(np.float32)
        scaled /= scales(_mean(shares, scaled, squared=True))
        return table
    length = np.sqrt(sparse_mean_squares(shares, table).sum())
    return (table / (length or 1.0)).astype(np.float32)


def scales(squares: np.ndarray) -> np.ndarray:
    """What to divide dimensions by so that each has the same scale."""
    # squares: float64 (D,); returns float32 (D,)
    roots = np.sqrt(squares)
    least = 1e-6 * roots.max(initial=0.0)  # below it lies what rounding leaves of a constant
    return np.where(roots > least, roots, 1.0).astype(np.float32)


def sparse_mean_squares(shares: np.ndarray, table: Any) -> np.ndarray:
    """Take the mean of the square of each dimension."""
    # shares: float64 (R,); table: scipy.sparse CSR (R, D); returns float64 (D,)
    return np.asarray(table.multiply(table).T @ shares)


def _mean(shares: np.ndarray, table: np.ndarray, *, squared: bool = False) -> np.ndarray:
    """The mean of each dimension, or of its square, some rows at a time."""
    total = np.zeros(table.shape[1])
    for start in range(0, len(table), _ROWS):
        part = table[start : start + _ROWS].astype(np.float64)
        total += shares[start : start + _ROWS] @ (part * part if squared else part)
    return total
