"""The text of a corpus as pieces of its words, to count."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.tokenizer.pieces import FIRST_PIECE, Pieces

if TYPE_CHECKING:
    from firth.corpora.store.view import StoredText, View


class PieceText:
    """A text of the pieces of its words, without words with unknown ones: a ``CountableView``."""

    def __init__(self, view: "View", pieces: Pieces) -> None:
        ids, offsets = pieces.split(view.words)
        known = ids[offsets[:-1]] >= FIRST_PIECE
        self._view, self._pieces = view, pieces
        self._ids = ids.astype(np.int32)
        self._starts = offsets[:-1]
        self._lengths = np.where(known, np.diff(offsets), 0)
        weights = np.repeat(np.where(known, view.counts, 0), np.diff(offsets))
        # counts below 2^53 are exact in float64
        self.counts = np.bincount(ids, weights, minlength=len(pieces)).astype(np.int64)
        self.n_tokens = int(self.counts.sum())

    def of(self, stored: "StoredText") -> "PieceText":
        """Return the same words as pieces in another text."""
        return PieceText(self._view.of(stored), self._pieces)

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pieces int32 (n,) and the offsets of the view's units int64 (n_units + 1,)."""
        for rows, offsets in self._view.shards():
            lengths = self._lengths[rows]
            ends = offsets_of(lengths)
            places = np.repeat(self._starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])
            yield self._ids[places], ends[offsets]
