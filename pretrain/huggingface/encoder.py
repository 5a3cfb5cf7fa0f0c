"""HuggingFaceEncoder: states of any encoder that transformers loads from a folder."""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.protocols import StaticLayers
from firth.embed.vectors.piece_table import TOKENIZER
from firth.pretrain.data.batches import Rows
from firth.pretrain.device import by_device, choose_device
from firth.pretrain.huggingface.loading import (
    TOKENIZER_OPTIONS,
    load,
    mask_piece,
    one_line_errors,
    predicts_next,
    row_length,
    state_width,
    static_layers,
)
from firth.pretrain.inference.masked_encoder import MaskedPieceEncoder
from firth.pretrain.inference.piece_encoder import PieceEncoder
from firth.pretrain.inference.sentence_scorer import NextPieceScorer
from firth.pretrain.inference.windows import Frame, WindowRows

_SCORED_SLOTS = {"cpu": 512, "cuda": 1 << 13}  # smaller, since each slot has a logit per piece


class HuggingFaceEncoder(PieceEncoder, StaticLayers):
    """A Hugging Face model as a ContextualEncoder, in float32 and without dropout.

    A sentence has the pieces that the model's own tokenizer gives its text; that of a list of words
    has spaces where they can be expected.
    """

    pieces: ExternalTokenizer
    # on a CPU as for TrainedEncoder; a GPU has to hold the states of all layers
    default_slots: ClassVar[dict[str, int]] = {"cpu": 2048, "cuda": 1 << 14}

    def static_layers(self) -> tuple[tuple[int, ...], str]:
        """Return the layers to pool by default, and the reason."""
        return static_layers(Path(self.name), self.model.config)

    @property
    def n_layers(self) -> int:
        """Number of layers above the embeddings, which are layer 0."""
        return int(self.model.config.num_hidden_layers)

    def words(self, text: str) -> list[str]:
        """Split text into words by the tokenizer's own normalizer and pre-tokenizer."""
        return self.pieces.words(text)

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words have no [UNK] among their pieces, bool (n_words,)."""
        return self.pieces.covers(words)

    @property
    def _table(self) -> Tensor:
        table: Tensor = self.model.get_input_embeddings().weight
        return table

    def _states(self, rows: Rows, layers: Sequence[int]) -> Tensor:
        found = self.model(**_inputs(rows), output_hidden_states=True)
        return torch.stack([found.hidden_states[layer] for layer in layers]).mean(0)


class HuggingFaceWithHead(HuggingFaceEncoder):
    """A Hugging Face language model; its head is loaded when scores are first computed."""

    head: ClassVar[str]  # the class that loads it

    @cached_property
    def _whole(self) -> Any:
        """The model with its head."""
        with one_line_errors(Path(self.name)):
            return load(Path(self.name), self.head).to(self._device).eval()

    @property
    def _scored_slots(self) -> int:
        return self.slots or by_device(_SCORED_SLOTS, self._device)


class HuggingFaceMaskedLM(HuggingFaceWithHead, MaskedPieceEncoder):
    """A Hugging Face masked language model."""

    head = "AutoModelForMaskedLM"

    def _logits(self, rows: Rows, at: Tensor) -> Tensor:
        logits: Tensor = self._whole(**_inputs(rows)).logits
        return logits[torch.arange(len(at), device=self._device), at[:, 0]]


class HuggingFaceCausalLM(HuggingFaceWithHead, NextPieceScorer):
    """A Hugging Face causal language model."""

    head = "AutoModelForCausalLM"

    @property
    def _scored_frame(self) -> Frame:
        """The frame; a tokenizer that puts nothing before a text gets the model's own start."""
        start = [] if self.frame.before else [self.model.config.bos_token_id]
        return dataclasses.replace(self.frame, before=[*start, *self.frame.before])

    def _next_logits(self, rows: WindowRows) -> Tensor:
        logits: Tensor = self._whole(**_inputs(rows)).logits
        return logits[:, :-1][rows.kept[:, 1:]]


def open_folder(folder: str | Path, device: str = "auto") -> HuggingFaceEncoder:
    """Open the encoder of a Hugging Face folder, without downloads or remote code.

    Returns a :class:`HuggingFaceMaskedLM` or :class:`HuggingFaceCausalLM` if it is such a model,
    and the encoder of an encoder-decoder model.
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
    mask = mask_piece(folder, model)
    frame = Frame(*pieces.frame, _padding(model), mask)
    kind = HuggingFaceEncoder if mask is None else HuggingFaceMaskedLM
    if predicts_next(model.config) and (frame.before or model.config.bos_token_id is not None):
        kind = HuggingFaceCausalLM
    return kind(model, pieces, frame, dim=width, max_pieces=room, name=str(folder))


def _inputs(rows: Rows) -> dict[str, Tensor]:
    """Return rows by the names of transformers."""
    return {"input_ids": rows.ids, "attention_mask": (rows.segments >= 0).long()}


def _padding(model: Any) -> int:
    """Return the padding piece; attention masks it, but RoBERTa counts positions by it."""
    piece = getattr(model.config, "pad_token_id", None)
    n_rows = model.get_input_embeddings().weight.shape[0]
    return int(piece) if piece is not None and 0 <= piece < n_rows else 0
