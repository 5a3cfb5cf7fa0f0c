"""Sentences of words as pieces, and as windows that fit the rows of an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from corpora.tokenizer.pieces import CLS, PAD, SEP

_SPECIALS = 2  # [CLS] and [SEP] of each window


class Splitter(Protocol):
    """Pieces of any kind."""

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Split words: ids (P,), and where each word's begin and end, (n_words + 1,)."""


@dataclass(frozen=True)
class PiecedText:
    """Sentences as pieces, all laid end to end."""

    ids: np.ndarray  # int64 (P,): the pieces
    # int64 (n_words + 1,): word w is ``ids[words[w]:words[w + 1]]``, which is never empty
    words: np.ndarray
    # int64 (n_sentences + 1,): sentence s is words ``sentences[s]`` to ``sentences[s + 1] - 1``,
    # perhaps none
    sentences: np.ndarray

    @classmethod
    def split(cls, pieces: Splitter, sentences: Sequence[Sequence[str]]) -> "PiecedText":
        """Split the words of sentences, each different one once."""
        number: dict[str, int] = {}
        tokens = [number.setdefault(word, len(number)) for words in sentences for word in words]
        ids, bounds = pieces.split(list(number))
        types = np.array(tokens, dtype=np.int64)
        lengths = np.diff(bounds)[types]
        words = offsets_of(lengths)
        places = np.repeat(bounds[types] - words[:-1], lengths) + np.arange(words[-1])
        n_words = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        return cls(ids[places].astype(np.int64), words, offsets_of(n_words))

    def word_means(self, rows: np.ndarray) -> np.ndarray:
        """Average over the pieces of each word."""
        # rows: float32 (P, D); returns float32 (n_words, D)
        lengths = np.diff(self.words)
        means = rows[self.words[:-1]]
        for nth in range(1, int(lengths.max(initial=1))):  # few words have many
            words = np.flatnonzero(lengths > nth)
            means[words] += rows[self.words[words] + nth]
        several = np.flatnonzero(lengths > 1)
        means[several] /= lengths[several, None].astype(np.float32)
        return means

    def windows(self, length: int) -> "PieceWindows":
        """Cut sentences that are too long.

        A sentence that fits is one window. A longer one becomes windows of ``length`` pieces,
        each half over the one before; what two windows share belongs half to each, so that a
        piece is read where it has text on both sides.
        """
        bounds = self.words[self.sentences]
        starts, stops = bounds[:-1], bounds[1:]
        fits = (stops > starts) & (stops - starts <= length)
        whole = np.stack([starts, stops, starts, stops])[:, fits]
        long = np.flatnonzero(stops - starts > length)
        cut = [_cut(int(starts[s]), int(stops[s]), length) for s in long]
        return PieceWindows(self.ids, *np.concatenate([whole, *cut], axis=1))

    def n_windows(self, length: int) -> np.ndarray:
        """Count the windows that :meth:`windows` makes of each sentence."""
        # returns int64 (n_sentences,)
        bounds = self.words[self.sentences]
        owners = np.searchsorted(bounds, self.windows(length).starts, side="right") - 1
        return np.bincount(owners, minlength=len(bounds) - 1)


@dataclass(frozen=True)
class PieceWindows:
    """Stretches of pieces that are read as one segment each."""

    ids: np.ndarray  # int64 (P,): pieces of a text
    starts: np.ndarray  # int64 (n,): window i reads the pieces ``starts[i]`` to ``stops[i] - 1``
    stops: np.ndarray  # int64 (n,): window i reads the pieces ``starts[i]`` to ``stops[i] - 1``
    own_starts: np.ndarray  # int64 (n,): those that belong to it
    own_stops: np.ndarray  # int64 (n,): those that belong to it

    def take(self, order: np.ndarray) -> "PieceWindows":
        """Take some windows."""
        # order: int64 (m,)
        return PieceWindows(
            self.ids,
            self.starts[order],
            self.stops[order],
            self.own_starts[order],
            self.own_stops[order],
        )

    def batches(self, slots: int) -> Iterator[np.ndarray]:
        """Group windows of about equal length, so that hardly a slot is padding."""
        # yields int64 (B,)
        lengths = self.stops - self.starts + _SPECIALS
        order = np.argsort(-lengths, kind="stable")
        first = 0
        while first < len(order):
            last = first + max(1, slots // int(lengths[order[first]]))
            yield order[first:last]
            first = last

    def rows(self, device: torch.device) -> "WindowRows":
        """Lay each window in a row of its own: [CLS], its pieces, [SEP], padding."""
        lengths = (self.stops - self.starts)[:, None]
        columns = np.arange(int(lengths.max()) + _SPECIALS)
        last = len(self.ids) - 1
        ids = self.ids[np.minimum(self.starts[:, None] + columns - 1, last)]
        ids[:, 0] = CLS
        ids[columns == lengths + 1] = SEP
        padding = columns > lengths + 1
        ids[padding] = PAD
        return WindowRows(
            torch.from_numpy(ids).to(device),
            torch.from_numpy(np.where(padding, 0, columns)).to(device),
            torch.from_numpy(np.where(padding, -1, 0)).to(device),
        )

    def own(self) -> np.ndarray:
        """Say which slots of :meth:`rows` hold pieces of the row's own, bool (n, T)."""
        columns = np.arange(int((self.stops - self.starts).max()) + _SPECIALS)
        places = self.starts[:, None] + columns - 1
        mine: np.ndarray = (places >= self.own_starts[:, None]) & (places < self.own_stops[:, None])
        return mine

    def own_places(self) -> np.ndarray:
        """Number the pieces that :meth:`own` marks, int64, row by row."""
        lengths = self.own_stops - self.own_starts
        shifts = np.repeat(self.own_starts - offsets_of(lengths)[:-1], lengths)
        return shifts + np.arange(len(shifts))


@dataclass(frozen=True)
class WindowRows:
    """What an encoder reads: int64 (B, T) each, on its device."""

    ids: Tensor  # int64 (B, T): pieces
    positions: Tensor  # int64 (B, T): from 0 at [CLS]; 0 for padding
    segments: Tensor  # int64 (B, T): 0, or -1 for padding


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Say where parts of some lengths start."""
    # lengths: int64 (n,); returns int64 (n + 1,)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _cut(start: int, stop: int, length: int) -> np.ndarray:
    """Windows over a long sentence: starts, stops, starts and stops of their own, (4, n)."""
    stride = length // 2
    n = -(-(stop - start - length) // stride) + 1
    starts = np.minimum(start + stride * np.arange(n), stop - length)
    middles = (starts[1:] + starts[:-1] + length) // 2  # of what two windows share
    own_starts, own_stops = np.append(start, middles), np.append(middles, stop)
    return np.stack([starts, starts + length, own_starts, own_stops])
