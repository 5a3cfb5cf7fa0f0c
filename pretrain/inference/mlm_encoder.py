"""MlmEncoder: states, scores, attention and predictions of a trained encoder."""

import os
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from corpora.common.errors import SettingError
from corpora.text.segment import TextSettings
from corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, SEP, SPECIAL, UNK, Pieces
from embed.vectors.piece_table import FIRST_VECTORS, PieceTable
from embed.vectors.run_files import run_options
from pretrain.device import choose_device
from pretrain.inference.pseudo_likelihood import predictor, pseudo_log_likelihoods
from pretrain.inference.states import masked_word_states, piece_states
from pretrain.inference.windows import PiecedText, PieceWindows, WindowRows
from pretrain.mixers import MIXERS
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.weights import load_model, load_pieces

# The fastest: fits a CPU's caches (16,384 slots are half as fast), and fills a GPU.
_SLOTS = {"cpu": 2048, "cuda": 1 << 16}


class Prediction(NamedTuple):
    """A predicted piece and its probability."""

    piece: str
    probability: float


class MlmEncoder:
    """A trained encoder with its pieces: ContextualEncoder, SentenceScorer and AttentionReader.

    Computes in float32. Sentences of similar length are read together, each in its own row.

    Parameters
    ----------
    model : MaskedLanguageModel
        The trained model; it is set to evaluation mode.
    pieces : Pieces
        The pieces it was trained on.
    text : TextSettings
        How its corpus was segmented into words.
    name : str
        Name of the model in messages.
    slots : int, optional
        Slots per batch; by default what is fastest on the device.
    path : Path, optional
        Directory of the run it was opened from.
    start : float32 (V, D), optional
        The vectors of the pieces that training started from.
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
        start: np.ndarray | None = None,
    ) -> None:
        self.model = model.eval()
        self.pieces = pieces
        self.text = text
        self.name = name
        self.slots = slots
        self.path = path
        self._start = start if start is not None and start.any() else None

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
        """Number of layers above the embeddings, which are layer 0."""
        return self.model.config.layers

    @property
    def dim(self) -> int:
        """D, the width of the states."""
        return self.model.config.dim

    @property
    def max_pieces(self) -> int:
        """Longest sequence in pieces, without [CLS] and [SEP]."""
        return self.model.config.max_length - 2

    def words(self, text: str) -> list[str]:
        """Segment text into words like the encoder's corpus.

        Parameters
        ----------
        text : str
            A sentence.

        Returns
        -------
        list of str
            The words, in the vocabulary or not.
        """
        return self.text.words(text)

    def words_and_masks(self, text: str) -> list[str]:
        """Segment text into words, and keep its masks.

        Parameters
        ----------
        text : str
            A sentence. The parts between masks are segmented separately, so that a mask is never
            part of a word.

        Returns
        -------
        list of str
            Words and ``[MASK]``.
        """
        first, *others = map(self.words, text.split(SPECIAL[MASK]))
        return sum(([SPECIAL[MASK], *words] for words in others), first)

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode words in the context of their sentences.

        A word's vector is the mean over layers, then over its pieces, without [CLS] and [SEP]. A
        sentence that is longer than a row is read in windows that overlap by half; each piece is
        taken from the window in which it is nearest the middle, so nothing is cut off.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words, in the vocabulary or not; a sentence may be empty.
        layers : sequence of int
            Layers to average: 0 is the embeddings, i the states after layer i.

        Returns
        -------
        list of float32 (n_words, D)
            One array per sentence; up to 1e-5 independent of the other sentences.

        Raises
        ------
        ArtifactError
            The states contain NaN or infinity.
        """

        def read(windows: PieceWindows) -> torch.Tensor:
            kept = torch.from_numpy(windows.kept_slots()).to(self._device)
            return self._mean_states(windows.rows(self._device), layers)[kept]

        text = PiecedText.split(self.pieces, sentences)
        states = piece_states(
            read, text.windows(self.max_pieces), slots=self._slots, dim=self.dim, name=self.name
        )
        return np.split(text.word_means(states), text.sentences[1:-1]) if len(sentences) else []

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

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Count the windows in which sentences are read.

        Parameters
        ----------
        sentences : sequence of sequences of str
            Words, as for :meth:`encode`.

        Returns
        -------
        int64 (n_sentences,)
            More than 1 if a sentence has more pieces than ``max_pieces``; 0 if it is empty.
        """
        return PiecedText.split(self.pieces, sentences).n_windows(self.max_pieces)

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words can be split into pieces.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        bool (n_words,)
            False for words that become [UNK].
        """
        ids, offsets = self.pieces.split(words)
        known: np.ndarray = ids[offsets[:-1]] != UNK
        return known

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up words in the embedding table: no norm, positions or context.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        float32 (n_words, D)
            Mean over the pieces of each word.
        """
        text = PiecedText.split(self.pieces, [words])
        table = self.model.pieces.weight.detach()
        with torch.inference_mode():
            rows = table[torch.from_numpy(text.ids).to(table.device)].cpu().numpy()
        return text.word_means(rows)

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up words in the vectors that training started from.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        float32 (n_words, D)
            Mean over the pieces of each word; the input embeddings if training started at random.
        """
        if self._start is None:
            return self.input_embeddings(words)
        text = PiecedText.split(self.pieces, [words])
        return text.word_means(self._start[text.ids])

    def n_pieces(self, words: Sequence[str]) -> np.ndarray:
        """Count the pieces of words.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        int64 (n_words,)
            At least 1.
        """
        counts: np.ndarray = np.diff(self.pieces.split(words)[1])
        return counts

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
        bounds = text.words[text.sentences].tolist()
        return np.array([scores[a:b].sum() for a, b in pairwise(bounds)])

    def attention(
        self, words: Sequence[str], layers: Sequence[int] | None = None
    ) -> tuple[list[str], np.ndarray]:
        """Compute the attention weights on one sentence.

        Parameters
        ----------
        words : sequence of str
            At least one word or ``[MASK]``; their pieces must fit in a row.
        layers : sequence of int, optional
            Layers to return, ascending from 0; by default all.

        Returns
        -------
        pieces : list of str
            T pieces, [CLS] first and [SEP] last.
        weights : float32 (L, H, T, T)
            By layer, head, query and key; rows sum to 1.

        Raises
        ------
        SettingError
            There are no words, too many pieces, or a layer has no attention.
        """
        layers = range(self.n_layers) if layers is None else layers
        self._check_attention(layers)
        ids = torch.tensor([self._row(words)], device=self._device)
        positions = torch.arange(ids.shape[1], device=self._device)[None]
        with torch.inference_mode():
            weights = self.model.attentions(ids, positions, torch.zeros_like(ids), layers)[:, 0]
        return [self.pieces.names[piece] for piece in ids[0].tolist()], weights.cpu().numpy()

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

    def _check_attention(self, layers: Sequence[int]) -> None:
        """Raise if a layer has no attention weights."""
        mixers = self.model.config.mixers
        others = [layer for layer in layers if not MIXERS[mixers[layer]].attends]
        if not others:
            return
        attending = [n for n, mixer in enumerate(mixers) if MIXERS[mixer].attends]
        remedy = f"pass `layer={attending[0]}`" if attending else "train with attention"
        raise SettingError(
            f"{self.name}: layer {others[0]} is `mixer={mixers[others[0]]}`, which has no "
            f"attention weights; {remedy}"
        )

    @property
    def _device(self) -> torch.device:
        return self.model.pieces.weight.device

    @property
    def _slots(self) -> int:
        """Slots per batch."""
        return self.slots or _SLOTS[self._device.type]

    def _mean_states(self, rows: WindowRows, layers: Sequence[int]) -> torch.Tensor:
        """Return the states of rows, mean over layers, float32 (B, T, D)."""
        found = self.model.states(rows.ids, rows.positions, rows.segments, layers=max(layers))
        return torch.stack([found[layer] for layer in layers]).mean(0)

    def _row(self, words: Sequence[str]) -> list[int]:
        """Return [CLS], the pieces of a sentence and its masks, [SEP]."""
        row: list[int] = []
        for is_mask, some in groupby(words, SPECIAL[MASK].__eq__):
            part = list(some)
            row += [MASK] * len(part) if is_mask else self.pieces.split(part)[0].tolist()
        if not row:
            raise SettingError("the sentence has no words")
        if len(row) > self.max_pieces:
            raise SettingError(
                f"the sentence has {len(row)} pieces, but the encoder reads at most "
                f"{self.max_pieces}; pass a shorter one"
            )
        return [CLS, *row, SEP]


def open_run(run: str | os.PathLike[str], device: str = "auto") -> MlmEncoder:
    """Open the encoder of a finished run of ``train-mlm``.

    Parameters
    ----------
    run : str or Path
        Directory of the run.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    MlmEncoder
        In evaluation mode.

    Raises
    ------
    ArtifactError
        A file is missing or damaged, or does not match the others.
    SettingError
        The device is not available.
    """
    run = Path(run)
    model = load_model(run, choose_device(device))
    text: dict[str, Any] = run_options(run).get("text") or {}
    pieces = load_pieces(run, model.config)
    settings = TextSettings.from_json(text)
    table = PieceTable.open(run, FIRST_VECTORS, pieces)
    start = None if table is None else np.array(table.rows)  # since the run may be temporary
    return MlmEncoder(model, pieces, settings, name=str(run), path=run.absolute(), start=start)
