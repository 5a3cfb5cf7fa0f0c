"""What every trained encoder does: states of words in context, attention, lookups."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import CLS, MASK, SEP, SPECIAL, UNK, Pieces
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.inference.states import piece_states
from firth.pretrain.inference.windows import PiecedText, PieceWindows, WindowRows
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.nearby_heads import common_direction

# The fastest: fits a CPU's caches (16,384 slots are half as fast), and fills a GPU.
_SLOTS = {"cpu": 2048, "cuda": 1 << 16}


class Prediction(NamedTuple):
    """A predicted piece and its probability."""

    piece: str
    probability: float


class TrainedEncoder:
    """A trained encoder with its pieces: ContextualEncoder and AttentionReader.

    Sentences of similar length are read together, each in its own row.

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
    start : WordVectors, optional
        What words are without context, by :func:`firth.embed.vectors.word_vectors.open_start`.
    dtype : torch.dtype
        Precision of large matrix products, where states of words are computed.
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
        start: WordVectors | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.model = model.eval()
        self.pieces = pieces
        self.text = text
        self.name = name
        self.slots = slots
        self.path = path
        self._start = start
        self._dtype = dtype

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
            f"<{type(self).__name__} {self.name}: {self.n_layers} layers, {self.dim} dimensions, "
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

    @property
    def needs_trees(self) -> bool:
        """Whether it reads sentences with dependency trees only."""
        return self.model.config.attention_edges is not None

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
            Words, in the vocabulary or not; a sentence may be empty. An encoder with
            ``attention=tree`` needs trees, as in a ``ParsedSentence``.
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
            Mean over the pieces of each word, without the direction that was added to all.
        """
        text = PiecedText.split(self.pieces, [words])
        table = self.model.pieces.weight.detach()
        with torch.inference_mode():
            rows = table[torch.from_numpy(text.ids).to(table.device)].cpu()
            if self.model.config.nearby_heads:
                common = common_direction(self.dim)
                rows -= (rows @ common)[:, None] * common
        return text.word_means(rows.numpy())

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up what words are without context.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        float32 (n_words, S)
            Their count vectors, or means over the pieces of words without one; the input embeddings
            if training started at random.
        """
        return self.input_embeddings(words) if self._start is None else self._start.rows(words)

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

    @property
    def attention_layers(self) -> Sequence[int]:
        """The layers that have attention, ascending from 0."""
        mixers = enumerate(self.model.config.mixers)
        return [layer for layer, mixer in mixers if MIXERS[mixer].attends]

    def attention(
        self, words: Sequence[str], layers: Sequence[int] | None = None
    ) -> tuple[list[str], np.ndarray]:
        """Compute the attention weights on one sentence.

        Parameters
        ----------
        words : sequence of str
            At least one word or ``[MASK]``; their pieces must fit in a row.
        layers : sequence of int, optional
            Layers to return, ascending from 0; by default all that have attention.

        Returns
        -------
        pieces : list of str
            T pieces, [CLS] first and [SEP] last.
        weights : float32 (L, H, T, T)
            By layer, head, query and key; rows sum to 1.

        Raises
        ------
        SettingError
            There are no words, too many pieces, or a layer or all layers have no attention.
        """
        layers = self._with_attention(layers)
        ids = torch.tensor([self._row(words)], device=self._device)
        positions = torch.arange(ids.shape[1], device=self._device)[None]
        with torch.inference_mode():
            weights = self.model.attentions(ids, positions, torch.zeros_like(ids), layers)[:, 0]
        return [self.pieces.names[piece] for piece in ids[0].tolist()], weights.cpu().numpy()

    def _with_attention(self, layers: Sequence[int] | None) -> Sequence[int]:
        """Return the layers, by default all with attention; raise if one or all have none."""
        attending = self.attention_layers
        wanted = attending or [0] if layers is None else layers
        for layer in wanted:
            if layer not in attending:
                remedy = f"pass `layer={attending[0]}`" if attending else "train with attention"
                raise SettingError(
                    f"{self.name}: layer {layer} is `mixer={self.model.config.mixers[layer]}`, "
                    f"which has no attention weights; {remedy}"
                )
        return wanted

    @property
    def _device(self) -> torch.device:
        return self.model.pieces.weight.device

    @property
    def _slots(self) -> int:
        """Slots per batch."""
        return self.slots or _SLOTS[self._device.type]

    def _mean_states(self, rows: WindowRows, layers: Sequence[int]) -> torch.Tensor:
        """Return the states of rows, mean over layers, float32 (B, T, D)."""
        half = self._dtype == torch.bfloat16
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=half):
            found = self.model.states(
                rows.ids, rows.positions, rows.segments, layers=max(layers), tree=rows.tree
            )
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
