"""CausalEncoder: what an encoder of next pieces gives sentences, and the text it generates."""

from collections.abc import Sequence

import numpy as np
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import note
from firth.corpora.tokenizer.pieces import CLS, MASK, SPECIAL
from firth.embed.protocols import JoinableEncoder
from firth.pretrain.inference.generation import Generated, continue_row, spell
from firth.pretrain.inference.sampling import GenerateConfig
from firth.pretrain.inference.sentence_scorer import NextPieceScorer
from firth.pretrain.inference.trained_encoder import Prediction, TrainedEncoder
from firth.pretrain.inference.windows import PiecedText, WindowRows


@suggesting
class CausalEncoder(TrainedEncoder, NextPieceScorer, JoinableEncoder):
    """A trained encoder of next pieces.

    Attributes
    ----------
    model : MaskedLanguageModel
        The trained model, in evaluation mode.
    pieces : Pieces
        The pieces it was trained on.
    """

    def encode_masked(
        self, sentences: Sequence[Sequence[str]], tokens: np.ndarray, layers: Sequence[int]
    ) -> np.ndarray:
        """Encode words that the encoder does not see, but only what is before them.

        A word's vector is the state that predicts its first piece: that of the piece before it, or
        of [CLS]. Raises ArtifactError if the states contain NaN or infinity.
        """
        text = PiecedText.split(self.pieces, sentences)
        return self._piece_states(text, layers, before=True)[text.words[tokens]]

    def _next_logits(self, rows: WindowRows) -> torch.Tensor:
        return self.model.logits(self.model(rows)[:, :-1][rows.kept[:, 1:]])

    def generate(self, prompt: str, config: GenerateConfig | None = None) -> Generated:
        """Continue a text, piece by piece.

        The same arguments give the same text on one machine. It ends after ``length`` pieces, where
        the model predicts the end of a text, or when the longest row is full. Pieces are drawn by
        nucleus sampling (Holtzman et al. 2020, arXiv:1904.09751).

        Parameters
        ----------
        prompt : str
            The beginning, which ends with a whole word; empty to start a text. A word with
            characters that no piece has is read as an unknown one.
        config : GenerateConfig, optional
            The settings; by default those of ``GenerateConfig()``.

        Returns
        -------
        Generated
            The text, the added pieces with their probabilities, and why it ended.

        Raises
        ------
        SettingError
            The prompt has a [MASK] or fills a row.
        """
        config = config_of(config, GenerateConfig)
        words = self.words_and_masks(prompt)
        self._refuse_masks(words)
        ids = self.pieces.split(words)[0].tolist()
        if len(ids) >= self.max_pieces:
            raise SettingError(
                f"the prompt has {len(ids)} pieces, and with its continuation a row holds "
                f"{self.max_pieces}; pass a shorter one"
            )
        unknown = [word for word, known in zip(words, self.covers(words), strict=True) if not known]
        if unknown:
            note(f"read as unknown, since no piece has their characters: {' '.join(unknown)}")
        room = self.max_pieces - len(ids)
        most = min(config.length, room)
        continues = self.pieces.continues
        added, ended = continue_row(self.model, [CLS, *ids], continues, most, config)
        pieces = [Prediction(self.pieces.names[piece], p) for piece, p in added]
        reason = "end of text" if ended else "length" if config.length <= room else "row"
        text = self.text.written([*words, *spell(pieces)])
        return Generated(prompt, text, pieces, reason)

    def _row(self, words: Sequence[str]) -> list[int]:
        """Return [CLS], the pieces of a sentence, [SEP]; raise if it has masks."""
        self._refuse_masks(words)
        return super()._row(words)

    def _refuse_masks(self, words: Sequence[str]) -> None:
        """Raise if a word is a mask."""
        if SPECIAL[MASK] in words:
            raise SettingError(
                f"{self.name}: predicts the next piece and reads no {SPECIAL[MASK]}; leave it out"
            )
