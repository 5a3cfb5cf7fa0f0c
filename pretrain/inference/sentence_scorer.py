"""What encoders that score sentences share: sums of the log probabilities of pieces."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.keywords import suggesting
from firth.embed.protocols import SentenceScorer
from firth.pretrain.inference.piece_encoder import PieceEncoder
from firth.pretrain.inference.windows import Frame, PiecedText, WindowRows

_SCORED_SLOTS = 1 << 13


@suggesting
class PieceScorer(PieceEncoder, SentenceScorer):
    """An encoder that gives each piece of a sentence a probability."""

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Score sentences by (pseudo) log-likelihood; 0 for an empty sentence."""
        words = self.score_words(sentences, left_to_right_in_words=left_to_right_in_words)
        return np.array([scores.sum() for scores in words])

    def score_words(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> list[np.ndarray]:
        """Return what each word adds to the score of its sentence."""
        text = PiecedText.split(self.pieces, sentences)
        words = text.word_sums(self._piece_scores(text, left_to_right_in_words))
        return np.split(words, offsets_of(map(len, sentences))[1:-1]) if len(sentences) else []

    @property
    def _scored_slots(self) -> int:
        """Slots per batch where pieces are scored."""
        return self._slots

    def _piece_scores(self, text: PiecedText, left_to_right_in_words: bool) -> np.ndarray:
        """Return the log probability of each piece, float64 (P,)."""
        raise NotImplementedError


class NextPieceScorer(PieceScorer):
    """An encoder that was trained to predict the next piece."""

    @torch.inference_mode()
    def _piece_scores(self, text: PiecedText, left_to_right_in_words: bool) -> np.ndarray:
        """Return the log probability of each piece after those before it, but not of the end."""
        scores = np.zeros(len(text.ids))
        frame = self._scored_frame
        windows = text.windows(self.max_pieces + len(self.frame.before) - len(frame.before))
        for _, batch, rows in self._read(windows, self._scored_slots, frame):
            right = rows.ids[rows.kept][:, None]
            logits = self._next_logits(rows).log_softmax(-1).gather(1, right)
            scores[batch.kept_pieces()] = logits[:, 0].double().cpu().numpy()
        return scores

    @property
    def _scored_slots(self) -> int:
        return min(self._slots, _SCORED_SLOTS)  # fewer, since each has a logit per piece

    @property
    def _scored_frame(self) -> Frame:
        """The frame of scored rows, with a piece before the text."""
        return self.frame

    def _next_logits(self, rows: WindowRows) -> Tensor:
        """Score every piece in the slots that predict the kept ones, float32 (n_kept, V)."""
        raise NotImplementedError
