"""Sentences split into pieces, and cut into windows that fit the rows of an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.trees import ParsedSentence
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.vectors.piece_table import means_of_pieces
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.trees import NO_GOVERNOR, NO_WORD

Splitter = Pieces | ExternalTokenizer
_SPECIALS = 2  # of each window, about


@dataclass(frozen=True)
class Frame:
    """The special pieces of a row."""

    before: Sequence[int]  # its text
    after: Sequence[int]
    padding: int
    mask: int | None  # None if the model predicts no masked pieces


@dataclass(frozen=True)
class WindowRows(Rows):
    """Windows as rows of one segment each."""

    kept: torch.Tensor  # bool (B, T): slots of the pieces that the window keeps


@dataclass(frozen=True)
class PiecedText:
    """Sentences as concatenated pieces."""

    ids: np.ndarray  # int64 (P,)
    # int64 (n_words + 1,): word w is ``ids[words[w]:words[w + 1]]``, never empty
    words: np.ndarray
    # int64 (n_sentences + 1,): sentence s is words ``sentences[s]`` to ``sentences[s + 1] - 1``;
    # it may be empty
    sentences: np.ndarray
    # int64 (2, P), if all sentences have trees: the number of each piece's word, and of its head
    tree: np.ndarray | None = None
    # int64 (n_words,): where words can share pieces, which of ``words`` each is part of
    groups: np.ndarray | None = None

    @classmethod
    def split(cls, pieces: Splitter, sentences: Sequence[Sequence[str]]) -> "PiecedText":
        """Split sentences: the text of each for external pieces, else each distinct word once."""
        if isinstance(pieces, ExternalTokenizer):
            ids, bounds, offsets, groups = pieces.split_sentences(sentences)
            return cls(ids, bounds, offsets, groups=groups)
        number: dict[str, int] = {}
        tokens = [number.setdefault(word, len(number)) for words in sentences for word in words]
        ids, bounds = pieces.split(list(number))
        types = np.array(tokens, dtype=np.int64)
        lengths = np.diff(bounds)[types]
        words = offsets_of(lengths)
        places = np.repeat(bounds[types] - words[:-1], lengths) + np.arange(words[-1])
        n_words = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        tree = _tree(sentences, lengths)
        return cls(ids[places].astype(np.int64), words, offsets_of(n_words), tree)

    def word_means(self, rows: np.ndarray) -> np.ndarray:
        """Average rows over the pieces of each word."""
        # rows: float32 (P, D); returns float32 (n_words, D)
        means = means_of_pieces(rows, self.words)
        return means if self.groups is None else means[self.groups]

    def word_sums(self, scores: np.ndarray) -> np.ndarray:
        """Add the scores of the pieces of each word, float64 (n_words,); of a group, all to one."""
        sums: np.ndarray = np.add.reduceat(scores, self.words[:-1])
        if self.groups is None:
            return sums
        first_words = np.zeros(len(self.groups))
        first_words[np.unique(self.groups, return_index=True)[1]] = sums
        return first_words

    def windows(self, length: int) -> "PieceWindows":
        """Cut sentences into windows of at most ``length`` pieces (at least 2).

        A sentence that fits is one window. Windows of a longer one overlap by half; each piece is
        kept from the window in which it has more text on both sides.
        """
        bounds = self.words[self.sentences]
        starts, stops = bounds[:-1], bounds[1:]
        fits = (stops > starts) & (stops - starts <= length)
        whole = np.stack([starts, stops, starts, stops])[:, fits]
        long = np.flatnonzero(stops - starts > length)
        cut = [_cut(int(starts[s]), int(stops[s]), length) for s in long]
        starts, stops, kept_starts, kept_stops = np.concatenate([whole, *cut], axis=1)
        return PieceWindows(self.ids, starts, stops, kept_starts, kept_stops, self.tree)

    def n_windows(self, length: int) -> np.ndarray:
        """Count the windows of each sentence, int64 (n_sentences,); 0 if it is empty."""
        bounds = self.words[self.sentences]
        owners = np.searchsorted(bounds, self.windows(length).starts, side="right") - 1
        return np.bincount(owners, minlength=len(bounds) - 1)


@dataclass(frozen=True)
class PieceWindows:
    """Ranges of pieces that an encoder reads as one segment each.

    Window i reads pieces ``starts[i]`` to ``stops[i] - 1``, of which it keeps the states of
    ``kept_starts[i]`` to ``kept_stops[i] - 1``. Each piece of a text is kept by one window.
    """

    ids: np.ndarray  # int64 (P,): pieces of a text
    starts: np.ndarray  # int64 (n,), as the following
    stops: np.ndarray
    kept_starts: np.ndarray
    kept_stops: np.ndarray
    tree: np.ndarray | None = None  # int64 (2, P), as of PiecedText

    def take(self, order: np.ndarray) -> "PieceWindows":
        """Select windows by number, in this order; some may repeat."""
        bounds = self.starts, self.stops, self.kept_starts, self.kept_stops
        starts, stops, kept_starts, kept_stops = (each[order] for each in bounds)
        return PieceWindows(self.ids, starts, stops, kept_starts, kept_stops, self.tree)

    def keeping(self, pieces: np.ndarray) -> np.ndarray:
        """Return the number of the window that keeps each piece, int64 as ``pieces``."""
        order = np.argsort(self.kept_starts)
        return order[np.searchsorted(self.kept_starts[order], pieces, side="right") - 1]

    def batches(self, slots: int) -> Iterator[np.ndarray]:
        """Yield numbers of windows of similar length, longest first, ``slots`` slots at most."""
        lengths = self.stops - self.starts + _SPECIALS
        order = np.argsort(-lengths, kind="stable")
        first = 0
        while first < len(order):
            last = first + max(1, slots // int(lengths[order[first]]))
            yield order[first:last]
            first = last

    def rows(self, frame: Frame, device: torch.device) -> WindowRows:
        """Put the pieces of each window between special ones, with padding behind."""
        first, lengths = len(frame.before), (self.stops - self.starts)[:, None]
        columns = np.arange(first + int(lengths.max()) + len(frame.after))
        places = self.starts[:, None] + columns - first
        inside = np.clip(places, 0, len(self.ids) - 1)
        ids = self.ids[inside]
        ids[:, :first] = frame.before
        for nth, piece in enumerate(frame.after):
            ids[columns == first + lengths + nth] = piece
        padding = columns >= first + lengths + len(frame.after)
        ids[padding] = frame.padding
        kept = (places >= self.kept_starts[:, None]) & (places < self.kept_stops[:, None])
        arrays = ids, np.where(padding, -1, 0), np.where(padding, 0, columns), kept
        tree = None
        if self.tree is not None:
            special = (columns < first) | (columns >= first + lengths)
            numbers = np.where(special, [[[NO_WORD]], [[NO_GOVERNOR]]], self.tree[:, inside])
            tree = torch.from_numpy(numbers.swapaxes(0, 1)).to(device)
        return WindowRows(*(torch.from_numpy(array).to(device) for array in arrays), tree=tree)

    def kept_pieces(self) -> np.ndarray:
        """Return the indices of the pieces that windows keep, int64, window by window."""
        lengths = self.kept_stops - self.kept_starts
        shifts = np.repeat(self.kept_starts - offsets_of(lengths)[:-1], lengths)
        return shifts + np.arange(len(shifts))


def _tree(sentences: Sequence[Sequence[str]], lengths: np.ndarray) -> np.ndarray | None:
    """Return the number of each piece's word, and of its head, int64 (2, P); None without trees."""
    # lengths: int64 (n_words,), pieces of each word
    parsed = [each for each in sentences if isinstance(each, ParsedSentence)]
    if not parsed or sum(map(len, parsed)) < len(lengths):
        return None
    governors = np.concatenate([each.heads for each in parsed])
    words = np.arange(len(governors))
    targets = np.where(governors == 0, NO_GOVERNOR, words + governors)
    return np.repeat(np.stack([words, targets]), lengths, axis=1)


def _cut(start: int, stop: int, length: int) -> np.ndarray:
    """Cut a long sentence: starts, stops, kept starts and kept stops of windows, (4, n)."""
    stride = length // 2
    n = -(-(stop - start - length) // stride) + 1
    starts = np.minimum(start + stride * np.arange(n), stop - length)
    middles = (starts[1:] + starts[:-1] + length) // 2  # of the overlaps
    kept_starts, kept_stops = np.append(start, middles), np.append(middles, stop)
    return np.stack([starts, starts + length, kept_starts, kept_stops])
