"""MlmEncoder: what a trained encoder gives for words in their sentences."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from corpora.common.errors import ArtifactError, SettingError
from corpora.text.segment import TextSettings
from corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, SEP, SPECIAL, UNK, Pieces
from embed.vectors.run_files import run_options
from pretrain.device import choose_device
from pretrain.inference.pseudo_likelihood import predictor, pseudo_log_likelihoods
from pretrain.inference.windows import PiecedText, PieceWindows
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.weights import load_model, load_pieces

# For full speed: what a CPU's caches hold (at 16,384 it is half as fast), and what fills a GPU.
_SLOTS = {"cpu": 2048, "cuda": 1 << 16}


class Prediction(NamedTuple):
    """A piece that may stand at a mask, and its probability."""

    piece: str
    probability: float


class MlmEncoder:
    """A trained encoder with its pieces: ContextualEncoder, SentenceScorer and AttentionReader.

    Everything is computed in float32. Sentences of about one length are read together, each in
    a row of its own.

    Parameters
    ----------
    model : MaskedLanguageModel
        Set to be asked (``eval``).
    pieces : Pieces
        Those that it was trained on.
    text : TextSettings
        How its corpus was cut into words.
    name : str
        What messages call it.
    slots : int, optional
        Slots that are read at once; by default as many as the device reads fastest.
    path : Path, optional
        Directory of the run that it was opened from.
    """

    def __init__(
        self,
        model: MaskedLanguageModel,
        pieces: Pieces,
        text: TextSettings,
        *,
        name: str = "model",
        slots: int | None = None,
        path: Path | None = None,
    ) -> None:
        self.model = model.eval()
        self.pieces = pieces
        self.text = text
        self.name = name
        self.slots = slots
        self.path = path

    def __fspath__(self) -> str:
        if self.path is None:
            raise SettingError(
                f"{self.name}: this encoder is in memory only; train with `out`, or pass the path "
                "of a run"
            )
        return str(self.path)

    def __repr__(self) -> str:
        n_pieces = len(self.pieces)
        return (
            f"<MlmEncoder {self.name}: {self.n_layers} layers, {self.dim} dimensions, "
            f"{n_pieces:,} pieces>"
        )

    @property
    def n_layers(self) -> int:
        """Blocks; layer 0 are the embeddings."""
        return self.model.config.layers

    @property
    def dim(self) -> int:
        """D, the width of the states."""
        return self.model.config.dim

    @property
    def max_pieces(self) -> int:
        """Pieces that are read at once, [CLS] and [SEP] not counted."""
        return self.model.config.max_length - 2

    def words(self, text: str) -> list[str]:
        """Cut text into words the way the encoder's own corpus was cut.

        Parameters
        ----------
        text : str
            A sentence.

        Returns
        -------
        list of str
            Words, known or not.
        """
        return self.text.words(text)

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode words in their sentences.

        A word's vector is the mean over the layers, then over its pieces; [CLS] and [SEP]
        are read but left out. A sentence of more pieces than the rows have slots is read in
        windows, each half over the one before, and a piece is taken from the window in which
        it stands nearest the middle: nothing is cut off.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words, known or not; a sentence may be empty.
        layers : sequence of int
            Which layers to average: 0 are the embeddings, i the states after block i.

        Returns
        -------
        list of float32 (n_words, D)
            Per sentence. Equal to 1e-5 in whatever company it is encoded.

        Raises
        ------
        ArtifactError
            The states hold NaN or infinity.
        """
        text = PiecedText.split(self.pieces, sentences)
        states = text.word_means(self._piece_states(text.windows(self.max_pieces), layers))
        return np.split(states, text.sentences[1:-1]) if len(sentences) else []

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Count the windows in which sentences are read.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words, as :meth:`encode` takes them.

        Returns
        -------
        int64 (n_sentences,)
            More than 1 where a sentence has more pieces than ``most_pieces``; 0 of an empty one.
        """
        return PiecedText.split(self.pieces, sentences).n_windows(self.max_pieces)

    def knows(self, words: Sequence[str]) -> np.ndarray:
        """Tell which words have pieces of their own.

        Parameters
        ----------
        words : sequence of str
            Any.

        Returns
        -------
        bool (n_words,)
            False where a word is [UNK].
        """
        ids, offsets = self.pieces.split(words)
        known: np.ndarray = ids[offsets[:-1]] != UNK
        return known

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look words up in the table of pieces, before norm, positions and context.

        Parameters
        ----------
        words : sequence of str
            Known or not.

        Returns
        -------
        float32 (n_words, D)
            Means over the pieces of each word.
        """
        text = PiecedText.split(self.pieces, [words])
        table = self.model.pieces.weight.detach()
        with torch.inference_mode():
            rows = table[torch.from_numpy(text.ids).to(table.device)].cpu().numpy()
        return text.word_means(rows)

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Score sentences by pseudo-log-likelihood: each piece from all others.

        Salazar et al. 2020 (arXiv:1910.14659), equation 1: the sum of the logarithms of the
        probability of each piece where it alone is masked. That favours words of several
        pieces, which give each other away; so the pieces of the same word that follow it
        are masked too (Kauf and Ivanova 2023, arXiv:2305.10588, PLL-word-l2r).

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words; long sentences are read in windows, as by :meth:`encode`.
        left_to_right_in_words : bool
            False for the measure of Salazar et al.

        Returns
        -------
        float64 (n_sentences,)
            Natural logarithms; 0 for a sentence without words.
        """
        text = PiecedText.split(self.pieces, sentences)
        windows = text.windows(self.max_pieces)
        scores = pseudo_log_likelihoods(
            predictor(self.model), windows, text.words, self._slots, left_to_right_in_words
        )
        bounds = text.words[text.sentences].tolist()
        return np.array([scores[a:b].sum() for a, b in pairwise(bounds)])

    def attention(self, words: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Read one sentence, and tell where each piece looks.

        Parameters
        ----------
        words : sequence of str
            At least one, known or not; all of them fit a row.

        Returns
        -------
        pieces : list of str
            T pieces, [CLS] first and [SEP] last.
        weights : float32 (L, H, T, T)
            By layer and head, how much each piece (third axis) takes from each (fourth); rows
            sum to 1.

        Raises
        ------
        SettingError
            There are no words, or too many pieces.
        """
        ids = torch.tensor([self._row(words)], device=self._device)
        positions = torch.arange(ids.shape[1], device=self._device)[None]
        with torch.inference_mode():
            weights = self.model.attentions(ids, positions, torch.zeros_like(ids))[:, 0]
        return [self.pieces.names[piece] for piece in ids[0].tolist()], weights.cpu().numpy()

    def fill_mask(self, text: str, k: int = 10) -> list[list[Prediction]]:
        """Predict the masked pieces of a text.

        Parameters
        ----------
        text : str
            With ``[MASK]`` wherever one piece is to be found. The text between masks is cut
            into words by itself, so that a mask is never part of a word.
        k : int
            Answers per mask, at least 1.

        Returns
        -------
        list of list of Answer
            Per mask, in the order of the text; the most probable first.

        Raises
        ------
        SettingError
            There is no mask, or the text is too long.
        """
        row = self._masked_row(text)
        model = self.model
        with torch.inference_mode():
            ids = torch.tensor([row], device=self._device)
            positions = torch.arange(len(row), device=self._device)[None]
            chosen = (ids == MASK).nonzero()[:, 1][None]
            states = model(ids, positions, torch.zeros_like(ids), chosen)
            logits = model.logits(states[0])
            logits[:, :FIRST_PIECE] = -torch.inf  # special pieces are no answers
            found = logits.softmax(-1).topk(min(k, len(self.pieces) - FIRST_PIECE))
        return [
            [Prediction(self.pieces.names[piece], p) for piece, p in zip(pieces, ps, strict=True)]
            for pieces, ps in zip(found.indices.tolist(), found.values.tolist(), strict=True)
        ]

    @property
    def _device(self) -> torch.device:
        return self.model.pieces.weight.device

    @property
    def _slots(self) -> int:
        """Slots that are read at once."""
        return self.slots or _SLOTS[self._device.type]

    def _piece_states(self, windows: PieceWindows, layers: Sequence[int]) -> np.ndarray:
        """The state of each piece, mean over layers, float32 (P, D)."""
        states = np.empty((len(windows.ids), self.dim), dtype=np.float32)
        with torch.inference_mode():
            for numbers in windows.batches(self._slots):
                some = windows.take(numbers)
                rows = some.rows(self._device)
                found = self.model.states(
                    rows.ids, rows.positions, rows.segments, layers=max(layers)
                )
                mean = torch.stack([found[layer] for layer in layers]).mean(0)
                own = torch.from_numpy(some.own()).to(self._device)
                states[some.own_places()] = mean[own].cpu().numpy()
        if not np.isfinite(states).all():
            raise ArtifactError(
                f"{self.name}: gives states that hold NaN or infinity; take another"
            )
        return states

    def _row(self, words: Sequence[str]) -> list[int]:
        """[CLS], the pieces of a sentence, [SEP]."""
        if not words:
            raise SettingError("the sentence has no words")
        ids = self.pieces.split(words)[0].tolist()
        if len(ids) > self.max_pieces:
            raise SettingError(
                f"the sentence has {len(ids)} pieces, and the encoder reads at most "
                f"{self.max_pieces} at once; give a shorter one"
            )
        return [CLS, *ids, SEP]

    def _masked_row(self, text: str) -> list[int]:
        """[CLS], the pieces with [MASK] between the parts of the text, [SEP]."""
        parts = text.split(SPECIAL[MASK])
        if len(parts) == 1:
            raise SettingError(
                f"{text!r} has no {SPECIAL[MASK]}; put one where a piece is to be found"
            )
        row = [CLS]
        for part in parts:
            row += [*self.pieces.split(self.words(part))[0].tolist(), MASK]
        row[-1] = SEP
        if len(row) > self.max_pieces + 2:
            raise SettingError(
                f"the text has {len(row) - 2} pieces, and the rows of {self.name} hold "
                f"{self.max_pieces}; give a shorter one"
            )
        return row


def open_run(run: str | os.PathLike[str], device: str = "auto") -> MlmEncoder:
    """Open the encoder of a finished run of ``train-mlm``.

    Parameters
    ----------
    run : str or Path
        The directory.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    MlmEncoder
        Ready to be asked.

    Raises
    ------
    ArtifactError
        A file is missing, damaged, or does not fit the others.
    SettingError
        There is no such device.
    """
    run = Path(run)
    model = load_model(run, choose_device(device))
    text: dict[str, Any] = run_options(run).get("text") or {}
    pieces = load_pieces(run, model.config)
    return MlmEncoder(model, pieces, TextSettings.from_json(text), name=str(run), path=run)
