"""What every trained encoder does: states of words in context, attention, lookups."""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import CLS, MASK, PAD, SEP, SPECIAL, Pieces
from firth.embed.protocols import AttentionReader, MaskedEncoder, NextWordPredictor
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.piece_encoder import PieceEncoder
from firth.pretrain.inference.windows import Frame
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.nearby_heads import common_direction


class Prediction(NamedTuple):
    """A predicted piece and its probability."""

    piece: str
    probability: float


@suggesting
class TrainedEncoder(PieceEncoder, AttentionReader, NextWordPredictor):
    """A trained encoder with its pieces.

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
    path : Path, optional
        Directory of the run it was opened from.
    start : WordVectors, optional
        What words are without context, by :func:`firth.embed.vectors.word_vectors.open_start`.
    dtype : torch.dtype
        Precision of large matrix products, where states of words are computed.
    """

    model: MaskedLanguageModel
    pieces: Pieces
    predicts: ClassVar[str] = "predicts no words"  # said by what cannot score words
    # fit a CPU's caches (16,384 slots are half as fast), and fill a GPU
    default_slots: ClassVar[dict[str, int]] = {"cpu": 2048, "cuda": 1 << 16}

    def __init__(
        self,
        model: MaskedLanguageModel,
        pieces: Pieces,
        text: TextSettings,
        *,
        name: str = "model",
        path: Path | None = None,
        start: WordVectors | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        shape = model.config
        super().__init__(
            model,
            pieces,
            Frame([CLS], [SEP], PAD, MASK),
            dim=shape.dim,
            max_pieces=shape.max_length - 2,
            name=name,
        )
        self.text = text
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
            f"<{type(self).__name__} {self.name}: {self.n_layers} layers, states of {self.dim} "
            f"dimensions, {n_pieces:,} pieces>"
        )

    @property
    def n_layers(self) -> int:
        """Number of layers above the embeddings, which are layer 0."""
        return self.model.config.layers

    @property
    def needs_trees(self) -> bool:
        """Whether it reads sentences with dependency trees only."""
        return self.model.config.attention_edges is not None

    def words(self, text: str) -> list[str]:
        """Segment text into words like the encoder's corpus."""
        return self.text.words(text)

    def words_and_masks(self, text: str) -> list[str]:
        """Segment the parts between masks into words, so that a mask is never part of a word."""
        first, *others = map(self.words, text.split(SPECIAL[MASK]))
        return sum(([SPECIAL[MASK], *words] for words in others), first)

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words can be split into pieces; others become [UNK]."""
        return self.pieces.covers(words)

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up what words are without context.

        Their count vectors, or means over the pieces of words without one; the input embeddings if
        training started at random.
        """
        return self.input_embeddings(words) if self._start is None else self._start.rows(words)

    @torch.inference_mode()
    def predict_next(self, sentences: Sequence[Sequence[str]], words: Sequence[str]) -> np.ndarray:
        """Score words after sentences: in the place of a mask, or of the next piece."""
        if not isinstance(self, MaskedEncoder):
            raise SettingError(f"{self.name}: {self.predicts}; pass a run with `objective=causal`")
        followed = [[*sentence, words[0]] for sentence in sentences]
        ends = np.cumsum([len(each) for each in followed]) - 1
        states = torch.from_numpy(self.encode_masked(followed, ends, [self.n_layers]))
        ids, bounds = self.pieces.split(words)
        logits = self.model.logits(states.to(self._device)).cpu().numpy()
        return np.asarray(logits[:, ids[bounds[:-1]]])

    def _next_scores(self, words: Sequence[str]) -> Callable[[Sequence[int]], np.ndarray]:
        """Return a function that scores words as the next one, given the numbers of those before.

        By their first pieces, unless the encoder points at words. It returns float32 (n_words,).
        """
        return lambda order: self.predict_next([[words[n] for n in order]], words)[0]

    def reorder(self, words: Sequence[str]) -> list[int]:
        """Put words in order, by taking the best next one until none is left.

        Parameters
        ----------
        words : sequence of str
            In any order.

        Returns
        -------
        list of int
            Their numbers, from 0, in the order of the answer; of equal words the first is first.

        Raises
        ------
        SettingError
            The encoder points at words, and these are none or too many for a row.
        """
        scores, order, free = self._next_scores(words), list[int](), list(range(len(words)))
        while free:
            best = words[free[int(scores(order)[free].argmax())]]
            order.append(next(n for n in free if words[n] == best))
            free.remove(order[-1])
        return order

    @property
    def _table(self) -> torch.Tensor:
        return self.model.pieces.weight

    def _embeddings(self, ids: np.ndarray) -> torch.Tensor:
        """Look up pieces, without the direction that was added to all."""
        rows = super()._embeddings(ids)
        if self.model.config.nearby_heads:
            common = common_direction(self.dim)
            rows -= (rows @ common)[:, None] * common
        return rows

    @property
    def attention_layers(self) -> Sequence[int]:
        """The layers that have attention, ascending from 0."""
        mixers = enumerate(self.model.config.mixers)
        return [layer for layer, mixer in mixers if MIXERS[mixer].attends]

    def attention(
        self, words: Sequence[str], layers: Sequence[int] | None = None
    ) -> tuple[list[str], np.ndarray]:
        """Compute the attention weights on one sentence, of all layers that have attention.

        With ``layers`` only of these, ascending from 0. Raises SettingError if one has no
        attention, if there are no words, or more than fit in a row.
        """
        layers = self._with_attention(layers)
        ids = torch.tensor([self._row(words)], device=self._device)
        with torch.inference_mode():
            weights = self.model.attentions(Rows.whole(ids), layers)[:, 0]
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

    def _states(self, rows: Rows, layers: Sequence[int]) -> torch.Tensor:
        half = self._dtype == torch.bfloat16
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=half):
            found = self.model.states(rows, layers=max(layers))
        return torch.stack([found[layer] for layer in layers]).mean(0)

    def _row(self, words: Sequence[str]) -> list[int]:
        """Return [CLS], the pieces of a sentence and its masks, [SEP]."""
        row: list[int] = []
        for is_mask, some in groupby(words, SPECIAL[MASK].__eq__):
            part = list(some)
            row += [MASK] * len(part) if is_mask else self.pieces.split(part)[0].tolist()
        return self._framed(row)
