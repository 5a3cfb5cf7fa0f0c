"""HuggingFaceEncoder: states of any encoder that transformers loads from a folder."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.vectors.piece_table import TOKENIZER
from firth.pretrain.device import choose_device
from firth.pretrain.huggingface.loading import (
    TOKENIZER_OPTIONS,
    load,
    mask_piece,
    one_line_errors,
    row_length,
    state_width,
    static_layers,
)
from firth.pretrain.inference.pseudo_likelihood import pseudo_log_likelihoods
from firth.pretrain.inference.states import masked_word_states, piece_states
from firth.pretrain.inference.windows import PiecedText, PieceWindows

# on a CPU as for MlmEncoder; a GPU has to hold the states of all layers
_SLOTS = {"cpu": 2048, "cuda": 1 << 14}
_SCORED_SLOTS = {"cpu": 512, "cuda": 1 << 13}  # smaller, since each slot has a logit per piece


class HuggingFaceEncoder:
    """A Hugging Face model as a ContextualEncoder, in float32 and without dropout."""

    def __init__(
        self,
        model: nn.Module,
        pieces: ExternalTokenizer,
        *,
        max_pieces: int,
        width: int,
        name: str = "model",
        default_layers: tuple[tuple[int, ...], str],
    ) -> None:
        self.model: Any = model.eval()
        self.pieces = pieces
        self.max_pieces = max_pieces
        self.width = width
        self.name = name
        self._default_layers = default_layers

    def static_layers(self) -> tuple[tuple[int, ...], str]:
        """Return the layers to pool by default, and the reason."""
        return self._default_layers

    @property
    def n_layers(self) -> int:
        """Number of layers above the embeddings, which are layer 0."""
        return int(self.model.config.num_hidden_layers)

    def words(self, text: str) -> list[str]:
        """Split text into words by the tokenizer's own normalizer and pre-tokenizer."""
        return self.pieces.words(text)

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode words in the context of their sentences.

        See :meth:`~firth.pretrain.inference.mlm_encoder.MlmEncoder.encode`. Words have the pieces
        they have after a space, wherever they are in the sentence.
        """
        # returns list of float32 (n_words, D)

        def read(windows: PieceWindows) -> Tensor:
            ids, mask, kept = self._rows(windows)
            return self._states(ids, mask, layers)[kept]

        text = self._pieced(sentences)
        slots = _SLOTS[self._device.type]
        states = piece_states(
            read, text.windows(self.max_pieces), slots=slots, dim=self.width, name=self.name
        )
        return np.split(text.word_means(states), text.sentences[1:-1]) if len(sentences) else []

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Count the windows in which sentences are read."""
        # returns int64 (n_sentences,)
        return self._pieced(sentences).n_windows(self.max_pieces)

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words have no [UNK] among their pieces, bool (n_words,)."""
        return self.pieces.covers(words)

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up words in the embedding table: no norm, positions or context."""
        # returns float32 (n_words, D)
        text = self._pieced([words])
        table = self.model.get_input_embeddings().weight.detach()
        return text.word_means(table[torch.from_numpy(text.ids).to(table.device)].cpu().numpy())

    @property
    def _device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    def _pieced(self, sentences: Sequence[Sequence[str]]) -> PiecedText:
        return PiecedText.split(self.pieces, sentences)

    def _states(self, ids: Tensor, mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Return the states of rows, mean over layers, float32 (B, T, D)."""
        found = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return torch.stack([found.hidden_states[layer] for layer in layers]).mean(0)

    def _rows(self, windows: PieceWindows) -> tuple[Tensor, Tensor, Tensor]:
        """Put windows between special pieces: int64 ids, int64 mask, bool kept, (B, T) each."""
        before, after = self.pieces.frame
        lengths = (windows.stops - windows.starts)[:, None]
        columns = np.arange(len(before) + int(lengths.max()) + len(after))
        places = windows.starts[:, None] + columns - len(before)
        ids = windows.ids[np.clip(places, 0, len(windows.ids) - 1)]
        ids[:, : len(before)] = before
        for nth, piece in enumerate(after):
            ids[columns == len(before) + lengths + nth] = piece
        real = columns < len(before) + lengths + len(after)
        ids[~real] = _padding(self.model)
        kept = (places >= windows.kept_starts[:, None]) & (places < windows.kept_stops[:, None])
        on_device = [torch.from_numpy(array).to(self._device) for array in (ids, real, kept)]
        return on_device[0], on_device[1].long(), on_device[2]


class HuggingFaceMaskedLM(HuggingFaceEncoder):
    """A Hugging Face masked language model; a ContextualEncoder and a SentenceScorer.

    ``load_head`` loads the model with its head when scores are first computed.
    """

    def __init__(
        self, encoder: HuggingFaceEncoder, mask: int, load_head: Callable[[], nn.Module]
    ) -> None:
        super().__init__(
            encoder.model,
            encoder.pieces,
            max_pieces=encoder.max_pieces,
            width=encoder.width,
            name=encoder.name,
            default_layers=encoder.static_layers(),
        )
        self._mask, self._load_head = mask, load_head

    def score(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        left_to_right_in_words: bool = True,
        slots: int | None = None,
    ) -> np.ndarray:
        """Score sentences by pseudo-log-likelihood.

        See :meth:`~firth.pretrain.inference.mlm_encoder.MlmEncoder.score`. Words have the pieces
        they have after a space, wherever they are in the sentence.
        """
        # returns float64 (n_sentences,)
        text = self._pieced(sentences)
        windows, slots = text.windows(self.max_pieces), slots or _SCORED_SLOTS[self._device.type]
        scores = pseudo_log_likelihoods(
            self._predict, windows, text.words, slots, left_to_right_in_words
        )
        return text.sentence_sums(scores)

    def encode_masked(
        self, sentences: Sequence[Sequence[str]], tokens: np.ndarray, layers: Sequence[int]
    ) -> np.ndarray:
        """Encode words that are masked.

        See :meth:`firth.pretrain.inference.mlm_encoder.MlmEncoder.encode_masked`.
        """
        # returns float32 (n, D)

        def read(windows: PieceWindows, numbers: np.ndarray, places: np.ndarray) -> Tensor:
            ids, mask, _ = self._rows(windows)
            columns = torch.from_numpy(len(self.pieces.frame[0]) + places)
            masked = torch.from_numpy(numbers), columns
            ids[masked] = self._mask
            return self._states(ids, mask, layers)[masked]

        return masked_word_states(
            read,
            self._pieced(sentences),
            tokens,
            length=self.max_pieces,
            slots=_SLOTS[self._device.type],
            dim=self.width,
            name=self.name,
        )

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Return the input embeddings, since what training started from is unknown."""
        # returns float32 (n_words, D)
        return self.input_embeddings(words)

    def n_pieces(self, words: Sequence[str]) -> np.ndarray:
        """Count the pieces of words, int64 (n_words,)."""
        counts: np.ndarray = np.diff(self.pieces.split(words)[1])
        return counts

    @cached_property
    def _whole(self) -> Any:
        """The model with its head, loaded on first use."""
        return self._load_head()

    def _predict(self, windows: PieceWindows, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Predict masked pieces, as a ``pseudo_likelihood.Predictor``."""
        ids, mask, _ = self._rows(windows)
        before = len(self.pieces.frame[0])
        at, end = (
            torch.from_numpy(before + each).to(self._device)[:, None] for each in (first, stop)
        )
        columns = torch.arange(ids.shape[1], device=self._device)
        masked = ids.masked_fill((columns >= at) & (columns < end), self._mask)
        logits = self._whole(input_ids=masked, attention_mask=mask).logits
        found = logits[torch.arange(len(at), device=self._device), at[:, 0]].log_softmax(-1)
        right: np.ndarray = found.gather(1, ids.gather(1, at))[:, 0].double().cpu().numpy()
        return right


def open_folder(folder: str | Path, device: str = "auto") -> HuggingFaceEncoder:
    """Open the encoder of a Hugging Face folder, without downloads or remote code.

    Returns a :class:`HuggingFaceMaskedLM` if it is a masked language model, and the encoder of an
    encoder-decoder model.
    """
    folder = Path(folder)
    chosen = choose_device(device)
    pieces = ExternalTokenizer(folder / TOKENIZER)
    with one_line_errors(folder):
        model = load(folder).to(chosen)
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        n_rows = int(model.get_input_embeddings().weight.shape[0])
    if len(pieces) > n_rows:
        raise ArtifactError(
            f"{folder / TOKENIZER}: has {len(pieces)} pieces, and the model only {n_rows}; "
            "take both from the same model"
        )
    room = row_length(folder, model) - sum(map(len, pieces.frame))
    if room < 2:
        raise ArtifactError(
            f"{folder}: its rows have room for {max(room, 0)} pieces of text; correct "
            f"max_position_embeddings in config.json or model_max_length in {TOKENIZER_OPTIONS}"
        )
    with one_line_errors(folder):
        width = state_width(folder, model.eval(), pieces)
    encoder = HuggingFaceEncoder(
        model,
        pieces,
        max_pieces=room,
        width=width,
        name=str(folder),
        default_layers=static_layers(folder, model.config),
    )
    mask = mask_piece(folder, model)
    if mask is None:
        return encoder

    def load_head() -> nn.Module:
        with one_line_errors(folder):
            whole: nn.Module = load(folder, "AutoModelForMaskedLM").to(chosen).eval()
        return whole

    return HuggingFaceMaskedLM(encoder, mask, load_head)


def _padding(model: Any) -> int:
    """Return the padding piece; attention masks it, but RoBERTa counts positions by it."""
    piece = getattr(model.config, "pad_token_id", None)
    n_rows = model.get_input_embeddings().weight.shape[0]
    return int(piece) if piece is not None and 0 <= piece < n_rows else 0
