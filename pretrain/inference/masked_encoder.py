"""What encoders of masked pieces share: states and scores of pieces that they do not see.

The state of a masked word is what an encoder expects in its place (Li et al. 2021).
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.keywords import suggesting
from firth.embed.protocols import JoinableEncoder, SentenceScorer
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.piece_encoder import PieceEncoder
from firth.pretrain.inference.windows import PiecedText, PieceWindows, WindowRows

Hidden = tuple[Rows, tuple[Tensor, Tensor]]
_AT_ONCE = 0.15  # of a window's pieces, as an encoder is trained


@suggesting
class MaskedPieceEncoder(PieceEncoder, JoinableEncoder, SentenceScorer):
    """An encoder that was trained to predict masked pieces, some slots before them."""

    shift = 0

    @torch.inference_mode()
    def encode_masked(
        self, sentences: Sequence[Sequence[str]], tokens: np.ndarray, layers: Sequence[int]
    ) -> np.ndarray:
        """Encode words that the encoder does not see, but only the rest of their sentences.

        All pieces of a word are masked, and its vector is the mean over layers, then over its
        pieces. A window is read several times if more than 15 % of its pieces are to be masked,
        each time with other words masked, about as many. Raises ArtifactError if the states contain
        NaN or infinity.
        """
        text = PiecedText.split(self.pieces, sentences)
        windows = text.windows(self.max_pieces)
        tokens = tokens if text.groups is None else text.groups[tokens]
        first = text.words[tokens]
        window = windows.keeping(first)
        # a word that is longer than its window ends with it
        lengths = np.minimum(text.words[tokens + 1], windows.stops[window]) - first
        numbers, reading = _readings(windows, window, lengths)
        states = np.empty((len(tokens), self.dim), dtype=np.float32)
        for in_batch, batch, rows in self._read(windows.take(numbers), self._slots):
            row_of = np.full(len(numbers), -1)
            row_of[in_batch] = np.arange(len(in_batch))
            words = np.flatnonzero(row_of[reading] >= 0)
            row, offsets = row_of[reading[words]], offsets_of(lengths[words])
            columns = np.repeat(first[words] - batch.starts[row] - offsets[:-1], lengths[words])
            columns += len(self.frame.before) + np.arange(offsets[-1])
            masked = torch.from_numpy(np.repeat(row, lengths[words])), torch.from_numpy(columns)
            unseen, slots = self._hide(rows, masked, offsets[:-1])
            of_pieces = self._states(unseen, layers)[slots].cpu().numpy()
            states[words] = np.add.reduceat(of_pieces, offsets[:-1]) / lengths[words, None]
        return self._finite(states)

    @torch.inference_mode()
    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Score sentences by pseudo-log-likelihood; 0 for an empty sentence.

        Salazar et al. 2020 (arXiv:1910.14659), equation 1: the sum of the log probabilities of
        each piece with only that piece masked. This favors words of several pieces, which predict
        each other; so by default the later pieces of the same word are masked as well (Kauf and
        Ivanova 2023, arXiv:2305.10588, PLL-word-l2r).
        """
        text = PiecedText.split(self.pieces, sentences)
        windows = text.windows(self.max_pieces)
        pieces = windows.kept_pieces()
        n_kept = windows.kept_stops - windows.kept_starts
        jobs = windows.take(np.repeat(np.arange(len(n_kept)), n_kept))  # one row for each piece
        ends = pieces + 1
        if left_to_right_in_words:
            ends = text.words[np.searchsorted(text.words, pieces, side="right")]
        scores = np.zeros(len(text.ids))
        for numbers, batch, rows in self._read(jobs, self._scored_slots):
            shifts = batch.starts - len(self.frame.before)
            # a word that is longer than its window ends with it
            stops = np.minimum(ends[numbers], batch.stops) - shifts
            at, end = (
                torch.from_numpy(column).to(self._device)[:, None]
                for column in (pieces[numbers] - shifts, stops)
            )
            columns = torch.arange(rows.ids.shape[1], device=self._device)
            ids = rows.ids.masked_fill((columns >= at) & (columns < end), self._mask)
            logits = self._logits(dataclasses.replace(rows, ids=ids), at - self.shift)
            right = logits.log_softmax(-1).gather(1, rows.ids.gather(1, at))
            scores[pieces[numbers]] = right[:, 0].double().cpu().numpy()
        return text.sentence_sums(scores)

    def _hide(self, rows: Rows, masked: tuple[Tensor, Tensor], firsts: np.ndarray) -> Hidden:
        """Hide slots, of which ``firsts`` start words; return the rows and where the slots are."""
        # masked: int64 (P,) twice, rows and columns; firsts: int64 (n,)
        rows.ids[masked] = self._mask
        return rows, (masked[0], masked[1] - self.shift)

    @property
    def _mask(self) -> int:
        assert self.frame.mask is not None
        return self.frame.mask

    @property
    def _scored_slots(self) -> int:
        """Slots per batch where pieces are scored."""
        return self._slots

    def _logits(self, rows: WindowRows, at: Tensor) -> Tensor:
        """Score every piece in one slot of each row, float32 (B, V)."""
        # at: int64 (B, 1)
        raise NotImplementedError


def _readings(
    windows: PieceWindows, window: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the windows to read, some of them repeatedly, and in which reading a word is masked.

    Words that follow each other are masked in turns, so that they see each other.
    """
    # window, lengths: int64 (n,), of each word; returns int64 (n_readings,), int64 (n,)
    pieces = np.bincount(window, weights=lengths, minlength=len(windows.starts))
    words = np.bincount(window, minlength=len(windows.starts))
    room = np.maximum(1, _AT_ONCE * (windows.stops - windows.starts))
    n_readings = np.minimum(words, np.ceil(pieces / room)).astype(np.int64)
    order = np.argsort(window, kind="stable")
    nth = np.empty_like(window)
    nth[order] = np.arange(len(window)) - offsets_of(words)[window[order]]
    numbers = np.repeat(np.arange(len(n_readings)), n_readings)
    return numbers, offsets_of(n_readings)[window] + nth % n_readings[window]
