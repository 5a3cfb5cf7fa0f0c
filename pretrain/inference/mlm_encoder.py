"""MlmEncoder: what an encoder of masked pieces predicts, and opening the encoder of a run."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK, SPECIAL
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import open_start
from firth.pretrain.device import choose_device
from firth.pretrain.inference.causal_encoder import CausalEncoder
from firth.pretrain.inference.pseudo_likelihood import predictor, pseudo_log_likelihoods
from firth.pretrain.inference.states import masked_word_states
from firth.pretrain.inference.trained_encoder import Prediction, TrainedEncoder
from firth.pretrain.inference.windows import PiecedText, PieceWindows
from firth.pretrain.model.weights import load_model, load_pieces
from firth.pretrain.shape import EncoderConfig


class MlmEncoder(TrainedEncoder):
    """A trained encoder of masked pieces: also a MaskedEncoder, MaskFiller and SentenceScorer.

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
        """Encode words that the encoder does not see, but only the rest of their sentences.

        All pieces of the word are masked, and its vector is the mean over layers, then over its
        pieces (Li et al. 2021). About 15 % of a sentence's pieces are masked at once, or one word:
        with more words to read, the sentence is read several times.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words; long sentences are read in windows, as by :meth:`encode`.
        tokens : int64 (n,)
            Which words, counted through all sentences from 0, ascending.
        layers : sequence of int
            Layers to average, as for :meth:`encode`.

        Returns
        -------
        float32 (n, D)
            One row per word of ``tokens``.

        Raises
        ------
        ArtifactError
            The states contain NaN or infinity.
        """

        def read(windows: PieceWindows, numbers: np.ndarray, places: np.ndarray) -> torch.Tensor:
            rows = windows.rows(self._device)
            masked = torch.from_numpy(numbers), torch.from_numpy(places + 1)
            rows.ids[masked] = MASK
            return self._mean_states(rows, layers)[masked]

        text = PiecedText.split(self.pieces, sentences)
        return masked_word_states(
            read,
            text,
            tokens,
            length=self.max_pieces,
            slots=self._slots,
            dim=self.dim,
            name=self.name,
        )

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Score sentences by pseudo-log-likelihood.

        Salazar et al. 2020 (arXiv:1910.14659), equation 1: the sum of the log probabilities of
        each piece with only that piece masked. This favors words of several pieces, which predict
        each other; so by default the later pieces of the same word are masked as well (Kauf and
        Ivanova 2023, arXiv:2305.10588, PLL-word-l2r).

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words; long sentences are read in windows, as by :meth:`encode`.
        left_to_right_in_words : bool
            Whether to mask later pieces of the same word; False for the score of Salazar et al.

        Returns
        -------
        float64 (n_sentences,)
            Natural logarithms; 0 for an empty sentence.
        """
        text = PiecedText.split(self.pieces, sentences)
        windows = text.windows(self.max_pieces)
        scores = pseudo_log_likelihoods(
            predictor(self.model), windows, text.words, self._slots, left_to_right_in_words
        )
        return text.sentence_sums(scores)

    def fill_mask(self, text: str, k: int = 10) -> list[list[Prediction]]:
        """Predict the masked pieces of a text.

        Parameters
        ----------
        text : str
            Text with ``[MASK]`` for each piece to predict.
        k : int
            Predictions per mask, at least 1.

        Returns
        -------
        list of list of Prediction
            By mask, in the order of the text; the most probable first.

        Raises
        ------
        SettingError
            There is no mask, or the text is too long.
        """
        words = self.words_and_masks(text)
        if SPECIAL[MASK] not in words:
            raise SettingError(
                f"{text!r} has no {SPECIAL[MASK]}; put one where a piece should be predicted"
            )
        row = self._row(words)
        model = self.model
        with torch.inference_mode():
            ids = torch.tensor([row], device=self._device)
            positions = torch.arange(len(row), device=self._device)[None]
            chosen = (ids == MASK).nonzero()[:, 1][None]
            states = model(ids, positions, torch.zeros_like(ids), chosen)
            logits = model.logits(states[0])
            logits[:, :FIRST_PIECE] = -torch.inf  # never predict special pieces
            found = logits.softmax(-1).topk(min(k, len(self.pieces) - FIRST_PIECE))
        return [
            [Prediction(self.pieces.names[piece], p) for piece, p in zip(pieces, ps, strict=True)]
            for pieces, ps in zip(found.indices.tolist(), found.values.tolist(), strict=True)
        ]


def encoder_class(config: EncoderConfig) -> type[TrainedEncoder]:
    """Return the class for an encoder of this shape."""
    return CausalEncoder if config.causal else MlmEncoder


def open_masked(run: str | os.PathLike[str], device: str = "auto") -> MlmEncoder:
    """Open an encoder of masked pieces; raise ArtifactError if it predicts the next piece."""
    encoder = open_run(run, device)
    if not isinstance(encoder, MlmEncoder):
        raise ArtifactError(
            f"{run}: predicts the next piece and has no masks; pass a run with `objective=masked`"
        )
    return encoder


def open_causal(run: str | os.PathLike[str], device: str = "auto") -> CausalEncoder:
    """Open an encoder that predicts the next piece; raise ArtifactError if it predicts masks."""
    encoder = open_run(run, device)
    if not isinstance(encoder, CausalEncoder):
        raise ArtifactError(
            f"{run}: predicts masked pieces, not the next one; pass a run with `objective=causal`"
        )
    return encoder


def open_run(run: str | os.PathLike[str], device: str = "auto") -> TrainedEncoder:
    """Open the encoder of a finished run of ``train-mlm``, in evaluation mode."""
    run = Path(run)
    model = load_model(run, choose_device(device))
    pieces = load_pieces(run, model.config)
    settings = TextSettings.from_json(Run.open(run).text or {})
    opened = encoder_class(model.config)
    return opened(
        model, pieces, settings, name=str(run), path=run.absolute(), start=open_start(run)
    )
