"""What encoders of masked pieces share: states and scores of pieces that they do not see.

The state of a masked word is what an encoder expects in its place (Li et al. 2021).
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.text.joining import joined_parts
from firth.corpora.tokenizer.pieces import MASK, SPECIAL
from firth.embed.protocols import JoinableEncoder, MaskFiller
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.sentence_scorer import PieceScorer
from firth.pretrain.inference.trained_encoder import Prediction
from firth.pretrain.inference.windows import PiecedText, PieceWindows

Hidden = tuple[Rows, tuple[Tensor, Tensor]]
_AT_ONCE = 0.15  # of a window's pieces, as an encoder is trained


class TargetWord(NamedTuple):
    """A word in the place of a mask."""

    word: str
    pieces: int
    probability: float  # among all words of as many pieces
    share: float  # of the probabilities of all targets


@suggesting
class MaskedPieceEncoder(PieceScorer, JoinableEncoder, MaskFiller):
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
    def _piece_scores(self, text: PiecedText, left_to_right_in_words: bool) -> np.ndarray:
        """Return the log probability of each piece with only that piece masked.

        Their sum is the pseudo-log-likelihood of Salazar et al. 2020 (arXiv:1910.14659), equation
        1. It favors words of several pieces, which predict each other; so by default the later
        pieces of the same word are masked as well (Kauf and Ivanova 2023, arXiv:2305.10588,
        PLL-word-l2r).
        """
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
        return scores

    @torch.inference_mode()
    def fill_mask(self, text: str, k: int = 10) -> list[list[Prediction]]:
        """Predict the masked pieces of a text; raise SettingError if it has none or is too long."""
        row = self._masked_row(text)
        slots = (row == self._mask).nonzero()
        rows = Rows.whole(row.expand(len(slots), -1))
        return self._likeliest(self._logits(rows, slots[:, 1:] - self.shift), k)

    def _masked_row(self, text: str) -> Tensor:
        """Return the pieces of a text and its masks, int64 (1, T); raise if it has none."""
        first, *others = (
            PiecedText.split(self.pieces, [self.words(part.rstrip())]).ids.tolist()
            for part in _around_masks(text)
        )
        ids = self._framed(sum(([self._mask, *ids] for ids in others), first))
        return torch.tensor([ids], device=self._device)

    def _likeliest(self, logits: Tensor, k: int) -> list[list[Prediction]]:
        """Return the ``k`` likeliest pieces of each row of logits, without special ones."""
        # logits: float32 (n, V or more)
        special = {*self.frame.before, *self.frame.after, self.frame.padding, self._mask}
        if self.pieces.unknown is not None:
            special.add(self.pieces.unknown)
        logits = logits[:, : len(self.pieces)]
        logits[:, list(special)] = -torch.inf
        best = logits.softmax(-1).topk(min(k, len(self.pieces) - len(special)))
        return [
            [Prediction(self.pieces.names[piece], p) for piece, p in zip(pieces, ps, strict=True)]
            for pieces, ps in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def target_probabilities(self, text: str, words: Sequence[str]) -> list["TargetWord"]:
        """Return how probable words are in the place of a text's only mask, the likeliest first.

        A word of several pieces takes as many masks, which are filled from left to right. Raises
        SettingError unless the text has one mask, and each word is one with known characters.
        """
        before, after, *more = _around_masks(text)
        if more:
            raise SettingError(f"{text!r} has {len(more) + 1} masks; leave one for `targets`")
        words = [word.strip() for word in words]
        parts = [[self.words(part) for part in (before, word, after)] for word in words]
        for word, (_, inside, _) in zip(words, parts, strict=True):
            if len(inside) != 1:
                what = "several words" if inside else "no word"
                raise SettingError(f"`targets`: {word!r} is {what}; pass single words")
            if not self.covers(inside).all():
                raise SettingError(
                    f"`targets`: {word!r} has characters that no piece has; leave it out"
                )
        alike: dict[str, str] = {}
        for word, (_, [read], _) in zip(words, parts, strict=True):
            if (other := alike.setdefault(read, word)) is not word:
                raise SettingError(f"`targets`: {other!r} and {word!r} are one word; leave one")
        scores = self.score_words([joined_parts(of, [""] * 3) for of in parts])
        logs = np.array([of[len(parts[0][0])] for of in scores])
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        columns = self.n_pieces(words).tolist(), np.exp(logs).tolist(), shares.tolist()
        return sorted(map(TargetWord, words, *columns), key=lambda target: -target.probability)

    def _hide(self, rows: Rows, masked: tuple[Tensor, Tensor], firsts: np.ndarray) -> Hidden:
        """Hide slots, of which ``firsts`` start words; return the rows and where the slots are."""
        # masked: int64 (P,) twice, rows and columns; firsts: int64 (n,)
        rows.ids[masked] = self._mask
        return rows, (masked[0], masked[1] - self.shift)

    @property
    def _mask(self) -> int:
        assert self.frame.mask is not None
        return self.frame.mask

    def _logits(self, rows: Rows, at: Tensor) -> Tensor:
        """Score every piece in one slot of each row, float32 (B, V)."""
        # at: int64 (B, 1)
        raise NotImplementedError


def _around_masks(text: str) -> list[str]:
    """Return the parts of a text between its masks; raise if it has none."""
    parts = text.split(SPECIAL[MASK])
    if len(parts) == 1:
        raise SettingError(
            f"{text!r} has no {SPECIAL[MASK]}; put one where a piece should be predicted"
        )
    return parts


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
