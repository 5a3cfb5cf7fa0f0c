"""DenoisingEncoder: what a decoder over an encoder predicts of hidden words."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from firth.corpora.common.keywords import suggesting
from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK
from firth.pretrain.data.batches import Batch, Rows, as_batch
from firth.pretrain.data.objectives.spans import Corruption, run_starts
from firth.pretrain.inference.masked_encoder import Hidden, MaskedPieceEncoder
from firth.pretrain.inference.trained_encoder import Prediction, TrainedEncoder
from firth.pretrain.inference.windows import PiecedText, PieceWindows


@suggesting
class DenoisingEncoder(MaskedPieceEncoder, TrainedEncoder):
    """A trained encoder with a decoder of hidden spans; states of words are the encoder's.

    Attributes
    ----------
    model : MaskedLanguageModel
        The trained model, in evaluation mode.
    pieces : Pieces
        The pieces it was trained on.
    """

    @torch.inference_mode()
    def _piece_scores(self, text: PiecedText, left_to_right_in_words: bool) -> np.ndarray:
        """Return the log probabilities of spans at their first pieces, float64 (P,).

        A span is a word, the only one hidden in its sentence, and each of its pieces is given those
        before it; where the span ends is not scored. Without ``left_to_right_in_words``, each piece
        is a span.
        """
        windows = text.windows(self.max_pieces)
        pieces = windows.kept_pieces()
        owners = np.repeat(np.arange(len(windows.starts)), windows.kept_stops - windows.kept_starts)
        ends = pieces + 1
        if left_to_right_in_words:
            ends = text.words[np.searchsorted(text.words, pieces, side="right")]
            ends = np.minimum(ends, windows.kept_stops[owners])
        first = np.flatnonzero(np.diff(ends, prepend=-1))  # pieces of spans
        scores, firsts, ends = np.zeros(len(text.ids)), pieces[first], ends[first]
        for numbers, hidden, made in self._hiding(windows.take(owners[first]), firsts, ends):
            losses, _ = self.model.core.target_losses(*self.model.loss_inputs(made))
            of_span = hidden.gather(1, made.chosen) & (made.targets >= FIRST_PIECE)
            losses = losses.view_as(made.weights).double() * of_span
            scores[firsts[numbers]] = -losses.sum(1).cpu().numpy()
        return scores

    @torch.inference_mode()
    def predict_next(self, sentences: Sequence[Sequence[str]], words: Sequence[str]) -> np.ndarray:
        """Score words after sentences, by their first pieces, as a hidden span there."""
        text = PiecedText.split(self.pieces, [[*sentence, words[0]] for sentence in sentences])
        windows, last = text.windows(self.max_pieces), text.sentences[1:] - 1
        ids, offsets = self.pieces.split(words)
        firsts, ids = text.words[last], ids[offsets[:-1]]
        read, scores = windows.take(windows.keeping(firsts)), np.empty((len(last), len(words)))
        for numbers, hidden, made in self._hiding(read, firsts, text.words[last + 1]):
            slots = (made.chosen == hidden.int().argmax(1, True)).int().argmax(1)
            states = self._predictors(made)[range(len(slots)), slots]
            scores[numbers] = self.model.logits(states).cpu()[:, ids]
        return scores

    def fill_mask(self, text: str, k: int = 10) -> list[list[Prediction]]:
        """Predict the masked pieces of a text, from left to right, each after the best before it.

        Masks side by side are one span. Raises SettingError if there are none or it is too long.
        """
        ids, answers = self._masked_row(text), []
        hidden = ids == MASK
        for column in hidden[0].nonzero().flatten().tolist():
            with torch.inference_mode():
                made = self._corrupt(ids, hidden, run_starts(hidden))
                logits = self.model.logits(self._predictors(made)[0])
            # behind the span's sentinel, if it has one
            slot = (made.chosen[0] == column).nonzero()[-1]
            answers += self._likeliest(logits[slot], k)
            ids[0, column] = self.pieces.names.index(answers[-1][0].piece)
        return answers

    def _hiding(
        self, windows: PieceWindows, firsts: np.ndarray, ends: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Tensor, Batch]]:
        """Yield batches of windows, each with a span hidden: numbers, what is hidden, the batch."""
        # firsts, ends: int64 (n,), pieces; yields int64 (B,), bool (B, T)
        for numbers, batch, rows in self._read(windows, self._slots):
            shifts = batch.starts - len(self.frame.before)
            bounds = np.stack([firsts[numbers], np.minimum(ends[numbers], batch.stops)]) - shifts
            start, stop = torch.from_numpy(bounds).to(self._device)[..., None]
            columns = torch.arange(rows.ids.shape[1], device=self._device)
            hidden = (columns >= start) & (columns < stop)
            yield numbers, hidden, self._corrupt(rows.ids, hidden, run_starts(hidden))

    def _predictors(self, made: Batch) -> Tensor:
        """Return the decoder's states, float (B, C, D)."""
        x, _, batch, bounds = self.model.loss_inputs(made)
        return self.model.core.predictors(x, batch, bounds)

    def _corrupt(self, ids: Tensor, hidden: Tensor, starts: Tensor) -> Batch:
        """Hide spans of rows."""
        shape = self.model.config
        slots = int((hidden.sum(1) + starts.sum(1)).max())
        made = Corruption(shape.n_pieces, not shape.sentinels, slots).apply(ids, hidden, starts)
        return as_batch(made)

    def _hide(self, rows: Rows, masked: tuple[Tensor, Tensor], firsts: np.ndarray) -> Hidden:
        hidden, starts = torch.zeros(2, *rows.ids.shape, dtype=torch.bool, device=self._device)
        hidden[masked] = True
        starts[masked[0][firsts], masked[1][firsts]] = True
        marks = (~hidden | starts).cumsum(1)[masked] - 1  # the slots that words have now
        return self._corrupt(rows.ids, hidden, starts), (masked[0].to(self._device), marks)
