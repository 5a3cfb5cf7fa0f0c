"""Vectors of pieces, of which words have the mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.vectors.run_files import open_array

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.tokenizer.external import ExternalTokenizer
    from firth.corpora.tokenizer.pieces import Pieces

TOKENIZER = "tokenizer.json"
START = "start"  # folder of a masked LM: a run of the words without context
FIRST_VECTORS = "first_vectors.npy"  # of the pieces of a masked LM, before its training
PIECE_VECTORS = "pieces.npy"  # of a run whose words are composed of them

_WORDS_AT_ONCE = 1 << 13


def means_of_pieces(
    rows: np.ndarray, offsets: np.ndarray, dtype: type[np.floating] = np.float32
) -> np.ndarray:
    """Average consecutive rows, those of each word; sums are of ``dtype``."""
    # rows: float32 (n, D); offsets: int64 (n_words + 1,), no word is empty
    # returns dtype (n_words, D)
    lengths = np.diff(offsets)
    means = rows[offsets[:-1]].astype(dtype, copy=False)
    for nth in range(1, int(lengths.max(initial=1))):  # few words have many pieces
        words = np.flatnonzero(lengths > nth)
        means[words] += rows[offsets[words] + nth]
    several = np.flatnonzero(lengths > 1)
    means[several] /= lengths[several, None].astype(dtype)
    return means


def rows_from_words(
    words: Sequence[str], counts: np.ndarray, matrix: np.ndarray, pieces: "Pieces"
) -> np.ndarray:
    """Return for each piece the mean of the words that contain it, by frequency; 0 without any."""
    # counts: int64 (n,); matrix: float32 (n, D); returns float32 (P, D)
    from scipy import sparse

    from firth.corpora.tokenizer.pieces import FIRST_PIECE

    ids, offsets = pieces.split(words)
    weights = np.repeat(counts.astype(np.float32), np.diff(offsets))
    occurs = sparse.csr_array((weights, ids, offsets), shape=(len(words), len(pieces))).T
    totals = occurs.sum(1)
    totals[:FIRST_PIECE] = 0
    sums: np.ndarray = occurs @ matrix
    return np.divide(sums, totals[:, None], where=totals[:, None] > 0, out=np.zeros_like(sums))


class PieceTable:
    """Vectors of pieces, from which every word without an unknown piece gets a vector."""

    made_of = "pieces"

    def __init__(
        self, pieces: "Pieces | ExternalTokenizer", rows: np.ndarray, *, name: str = "pieces"
    ) -> None:
        # rows: float32 (P, D)
        if rows.ndim != 2 or len(rows) != len(pieces):
            raise ArtifactError(
                f"{name}: {len(pieces)} pieces do not fit a matrix of shape {rows.shape}; train "
                "the run again"
            )
        self.pieces = pieces
        self.rows, self.dim = rows, rows.shape[1]
        self.name = name

    @classmethod
    def open(cls, run: Path, file: str) -> "PieceTable | None":
        """Open the vectors of a run's pieces, memory-mapped; None if it has none."""
        if not (run / file).is_file():
            return None
        from firth.corpora.tokenizer.json_format import open_pieces

        rows = open_array(run / file, np.float32, 2)
        return cls(open_pieces(run / TOKENIZER), rows, name=str(run / file))

    def means(self, words: Sequence[str]) -> np.ndarray:
        """Return the mean of each word's pieces, float32 (n, D), some words at a time."""
        found = np.empty((len(words), self.rows.shape[1]), np.float32)
        for first in range(0, len(words), _WORDS_AT_ONCE):
            part = slice(first, first + _WORDS_AT_ONCE)
            ids, offsets = self.pieces.split(words[part])
            found[part] = means_of_pieces(self.rows[ids], offsets, np.float64)
        return found

    def compose_all(self, words: Sequence[str]) -> np.ndarray:
        """Return the mean of each word's pieces, float32 (n, D); 0 if a piece is unknown."""
        found = self.means(words)
        found[~self.pieces.covers(words)] = 0
        return found

    def in_memory(self, name: str | None = None) -> "PieceTable":
        """Read the rows into memory."""
        return PieceTable(self.pieces, np.array(self.rows), name=name or self.name)
