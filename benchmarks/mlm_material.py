"""Shared parts of bench_mlm.py: shapes, random text, our step and Hugging Face's."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, SEP
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.data.objectives.masked import MaskedPieces, capacity
from firth.pretrain.data.packing import PackedRows
from firth.pretrain.device import Stopwatch, synchronize
from firth.pretrain.huggingface.layouts import huggingface_form
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import make_optimizer
from firth.pretrain.training.step import Stepper, StepSettings

MASK_RATE = 0.15
IGNORED = -100  # the label that Hugging Face's loss ignores
_RATE, _DECAY, _CLIP = 1e-4, 0.01, 1.0
_TEXT_ROWS = 4096
_CONTINUES = 0.3  # share of pieces that continue a word


@dataclass(frozen=True)
class Case:
    """The sizes of a case."""

    layers: int
    heads: int
    dim: int
    n_pieces: int
    rows: int
    length: int = 128

    def shape(self, norm: str) -> EncoderConfig:
        """Return the encoder of a layout: BERT's for ``post``, the defaults for ``pre``."""
        sizes = f"{self.layers}/{self.dim}/{self.heads}"
        config = MlmConfig(preset=sizes, sequence_length=self.length, norm=norm)
        return config.shape(n_pieces=self.n_pieces)

    @property
    def tokens(self) -> int:
        """Slots of a batch."""
        return self.rows * self.length


def drawn_rows(
    n_pieces: int, length: int, device: torch.device, *, segments: int = 1, n_rows: int = _TEXT_ROWS
) -> PackedRows:
    """Return unpadded rows of pieces drawn by Zipf's law, with this many segments each."""
    rng = np.random.default_rng(1)
    chances = 1 / (np.arange(n_pieces - FIRST_PIECE) + 10.0)
    drawn = rng.choice(len(chances), size=(n_rows, length), p=chances / chances.sum())
    ids = (drawn + FIRST_PIECE).astype(np.int32)
    bounds = np.linspace(0, length, segments + 1).astype(int)
    ids[:, bounds[:-1]] = CLS
    ids[:, bounds[1:] - 1] = SEP
    return PackedRows(torch.from_numpy(ids).to(device), n_pieces, 0, device)


def make_batches(rows: PackedRows, batch_rows: int) -> Batches:
    """Return batches as the trainer makes them."""
    rng = np.random.default_rng(2)
    continues = rng.random(rows.vocabulary_size) < _CONTINUES
    continues[:FIRST_PIECE] = False
    usual = capacity(rows.sequence_length, MASK_RATE)
    objective = MaskedPieces(torch.tensor(continues, device=rows.device), usual, seed=1)
    return Batches(rows, objective, batch_rows=batch_rows, seed=1)


class Ours:
    """The trainer's own step, which makes its batches as it runs."""

    def __init__(
        self, shape: EncoderConfig, batches: Batches, device: torch.device, settings: StepSettings
    ):
        self.model = MaskedLanguageModel(shape).to(device)
        self.batches, self.device = batches, device
        self.making = Stopwatch(device)
        self._number = 0
        self._optimizer = make_optimizer(self.model, weight_decay=_DECAY)
        self._stepper = Stepper(
            self.model,
            self._optimizer,
            settings,
            seed=1,
            group=ProcessGroup(),
            max_segments=2,
        )

    def run(self, steps: int) -> float:
        """Take steps; return the mean loss of the last one."""
        for _ in range(steps):
            with self.making.part("data"):
                batch = self.batches.batch(self._number, MASK_RATE)
            sums = self._stepper.step(self._number, batch, _RATE)
            self._number += 1
        loss = (sums[0] / sums[2]).item()
        synchronize(self.device)
        return loss


class HuggingFace:
    """A plain step of Hugging Face's model, with its own loss, and attention by SDPA.

    BERT computes logits of all slots; ModernBERT, the model of the pre-norm layout, can leave out
    those that are not predicted, and does so here.
    It starts from our weights and uses our batches, made in advance, with the same optimizer and
    clipping.
    """

    def __init__(self, ours: MaskedLanguageModel, batches: Batches, device: torch.device, *,
                 compiled: bool):  # fmt: skip
        self.device = device
        self.model = stock_model(ours, device).train()
        self._forward: Any = torch.compile(self.model, dynamic=False) if compiled else self.model
        self._weights = list(self.model.parameters())
        self._optimizer = make_optimizer(self.model, weight_decay=_DECAY)
        self._batches = _cycle([_labeled(batches.batch(step, MASK_RATE)) for step in range(4)])
        self.parts = 1

    def run(self, steps: int) -> float:
        """Take steps, with the batch in two or more parts if memory does not suffice."""
        while True:
            with contextlib.suppress(torch.cuda.OutOfMemoryError):
                return self._run(steps)
            self.parts *= 2  # here, where nothing holds the tensors of the attempt
            self._optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()

    def _run(self, steps: int) -> float:
        loss = torch.zeros(())
        for _ in range(steps):
            ids, labels = next(self._batches)
            parts = zip(ids.chunk(self.parts), labels.chunk(self.parts), strict=True)
            for some_ids, some_labels in parts:
                with torch.autocast(self.device.type, dtype=torch.bfloat16):
                    loss = self._forward(input_ids=some_ids, labels=some_labels).loss
                (loss / self.parts).backward()
            nn.utils.clip_grad_norm_(self._weights, _CLIP, foreach=True)
            self._optimizer.step(_RATE)
        found = loss.item()
        synchronize(self.device)
        return found


def stock_model(ours: MaskedLanguageModel, device: torch.device) -> Any:
    """Return Hugging Face's model with the same weights and attention by SDPA."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    config, tensors = huggingface_form(ours)
    stock = AutoModelForMaskedLM.from_config(
        AutoConfig.for_model(**config, sparse_prediction=ours.config.norm == "pre"),
        attn_implementation="sdpa",
    )
    missing, unexpected = stock.load_state_dict(tensors, strict=False)
    tied = ("decoder.weight", "decoder.bias")
    assert not unexpected, unexpected
    assert all(name.endswith(tied) for name in missing), missing
    stock.tie_weights()
    return stock.to(device)


def stock_loss(stock: Any, batch: Batch) -> Tensor:
    """Return its loss on a batch whose rows are one segment each."""
    ids, labels = _labeled(batch)
    loss: Tensor = stock(input_ids=ids, labels=labels).loss
    return loss


def _labeled(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the ids and labels for Hugging Face; IGNORED if nothing is predicted."""
    labels = torch.full_like(batch.ids, IGNORED)
    used = batch.weights > 0
    rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(batch.chosen)
    labels[rows[used], batch.chosen[used]] = batch.targets[used]
    return batch.ids, labels


def _cycle(batches: list[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Repeat the same batches forever."""
    while True:
        yield from batches
