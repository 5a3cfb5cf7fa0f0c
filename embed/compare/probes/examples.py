"""Shared by all probes: labeled examples, trained probes, and the scaling of vectors.

Probes measure how easily labels can be read off frozen vectors (Alain and Bengio 2016). They are
trained in one thread (:mod:`firth.embed.vectors.one_thread`), so that the same vectors, labels and
seed give the same bytes on one machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.embed.protocols import ContextualEncoder

_ROWS = 1 << 14  # processed at a time
STATIC = "static"  # the input source with one vector per word


@dataclass(frozen=True, eq=False)
class Examples:
    """Words with their labels."""

    rows: np.ndarray  # int64 (n, w): table rows of the w vectors that a probe sees for each word
    # int64 (n,): from 0; -1 for a label unseen in training. A label whose examples are all held
    # out has a number
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Bags:
    """Sentences as rows of a table of vectors."""

    rows: np.ndarray  # int64 (n_words,): the row of each word, all sentences concatenated
    # int64 (n_sentences + 1,): sentence s is ``rows[offsets[s]:offsets[s + 1]]``, possibly empty
    offsets: np.ndarray
    # int64 (n_words,): the sentence of each word within its text, ascending; None if unknown
    sentences: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Number of words per sentence, int64 (n_sentences,)."""
        return np.diff(self.offsets)

    def take(self, sentences: np.ndarray) -> "Bags":
        """Return some of the sentences, in the given order."""
        # sentences: int64 (n,)
        lengths = self.lengths[sentences]
        offsets = offsets_of(lengths)
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        places = np.repeat(self.offsets[sentences], lengths) + inside
        numbers = None if self.sentences is None else self.sentences[places]
        return Bags(self.rows[places], offsets, numbers)


@dataclass(frozen=True, eq=False)
class TrainedProbe:
    """A trained probe, with its accuracy on the development part."""

    # rows (n, w), as in Examples, to log probabilities up to a constant for each, float32 (n, L)
    score: Callable[[np.ndarray], np.ndarray]
    accuracy: float
    decay: float  # the best weight decay
    epochs: int  # the best epoch; for a linear probe, the number of iterations

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the likeliest label of each word, int64 (n,)."""
        return np.asarray(self.score(rows).argmax(axis=1))


def input_sources(encoder: ContextualEncoder | None, *, static_too: bool) -> dict[str, int | None]:
    """Return the input sources of a run by name: its layers, and None for static vectors."""
    layers = range(encoder.n_layers + 1) if encoder is not None else ()
    static = {STATIC: None} if encoder is None or static_too else {}
    return {**static, **{f"layer {layer}": layer for layer in layers}}


def source_note(source: str) -> str:
    """Return the start of a note that names the chosen source; empty for static vectors."""
    return "" if source == STATIC else f"{source} is best on the development part; "


def standardized(table: Any, rows: np.ndarray, n_flags: int = 0) -> Any:
    """Standardize vectors over the training words, so that one weight decay suits all.

    Dense vectors in place, except the last ``n_flags`` columns, which would be huge if rare; sparse
    ones are divided by one number.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D); rows: int64 (n,), repeated as words are
    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    if isinstance(table, np.ndarray):
        scaled = table[:, : table.shape[1] - n_flags]
        scaled -= _mean(shares, scaled).astype(np.float32)
        scaled /= scales(_mean(shares, scaled, squared=True))
        return table
    length = np.sqrt(sparse_mean_squares(shares, table).sum())
    return (table / (length or 1.0)).astype(np.float32)


def scales(squares: np.ndarray) -> np.ndarray:
    """Return the root mean square of each dimension; 1 where nothing varies."""
    # squares: float64 (D,); returns float32 (D,)
    roots = np.sqrt(squares)
    least = 1e-6 * roots.max(initial=0.0)  # below is rounding noise of a constant
    return np.where(roots > least, roots, 1.0).astype(np.float32)


def sparse_mean_squares(shares: np.ndarray, table: Any) -> np.ndarray:
    """Return the mean square of each dimension, weighted by row."""
    # shares: float64 (R,); table: scipy.sparse CSR (R, D); returns float64 (D,)
    return np.asarray(table.multiply(table).T @ shares)


def _mean(shares: np.ndarray, table: np.ndarray, *, squared: bool = False) -> np.ndarray:
    """Return the mean of each dimension, or of its square, some rows at a time."""
    total = np.zeros(table.shape[1])
    for start in range(0, len(table), _ROWS):
        part = table[start : start + _ROWS].astype(np.float64)
        total += shares[start : start + _ROWS] @ (part * part if squared else part)
    return total
