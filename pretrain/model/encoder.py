"""A BERT-style encoder with a head that predicts pieces.

Two layouts: post-norm is BERT's (Devlin et al. 2019, arXiv:1810.04805), pre-norm is ModernBERT's
(Warner et al. 2024, arXiv:2412.13663).
"""

import dataclasses
from collections.abc import Collection

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.data.batches import Batch, Rows
from firth.pretrain.model.attention import build_attention_inputs, visible
from firth.pretrain.model.decoder import Decoder
from firth.pretrain.model.layers import Block, norm
from firth.pretrain.model.mixers.base import AttentionInputs
from firth.pretrain.model.pointer import Pointer
from firth.pretrain.model.positions import Rotary, sinusoids
from firth.pretrain.model.varlen import segment_bounds
from firth.pretrain.shape import INIT_STD, EncoderConfig


class Core(nn.Module):
    """Everything between the summed embeddings and the loss: the part worth compiling."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding_norm = norm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.norm = norm(config) if config.norm == "pre" else nn.Identity()
        self.head = nn.Linear(config.dim, config.dim, bias=config.biases)
        self.head_activation = nn.GELU()
        self.head_norm = norm(config)
        self.bias = nn.Parameter(torch.empty(config.n_pieces + config.sentinels))
        rotates = config.positions == "rotary"
        self.rotary = Rotary(config.max_length, config.key_dim) if rotates else None
        self.decoder = Decoder(config.decoder) if config.decoder else None
        self.pointer = Pointer(config) if config.points else None

    def attention_inputs(self, rows: Rows, bounds: Tensor | None = None) -> AttentionInputs:
        """Make masks and rotary angles for all layers; ``bounds`` selects the varlen kernel."""
        # bounds: int32 (n + 1,)
        return build_attention_inputs(
            self.config,
            rows.segments,
            self.rotary(rows.positions) if self.rotary else None,
            pattern=rows.pattern,
            bounds=bounds,
            tree=rows.tree,
            noise=rows.noise,
            causal=rows.causal,
        )

    def first_states(self, x: Tensor) -> Tensor:
        """Normalize summed embeddings: the states that enter the first block."""
        # x: float32 (B, T, D); returns float32 (B, T, D)
        first: Tensor = self.dropout(self.embedding_norm(x))
        return first

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Run all blocks on summed embeddings; return final states of the chosen slots, or all."""
        # x: float32 (B, T, D); chosen: int64 (B, C); returns float32 (B, T or C, D)
        x = self.first_states(x)
        last = len(self.blocks) - 1
        for layer, block in enumerate(self.blocks):
            x = block(x, inputs, chosen if layer == last else None)
        final: Tensor = self.norm(x)
        return final

    def logits(self, states: Tensor, table: Tensor) -> Tensor:
        """Score every piece; the table of input embeddings is the output matrix, too."""
        # states: float (..., D); table: float32 (V, D); returns float (..., V)
        hidden = self.head_norm(self.head_activation(self.head(states)))
        return F.linear(hidden, table, self.bias[: len(table)])

    def predictors(self, x: Tensor, batch: Batch, bounds: Tensor | None = None) -> Tensor:
        """Return the states that predict the targets, from embeddings on.

        Those of the decoder, whose embeddings are behind the encoder's, if there is one; else of
        the chosen slots, or in causal rows of all.
        """
        # x: float32 (B, T + C or T, D); bounds: int32 (n + 1,); returns float (B, C, D)
        inputs = self.attention_inputs(batch, bounds)
        if self.decoder is None:
            return self.forward(x, inputs, None if inputs.causal else batch.chosen)
        return self.decode(x, batch, inputs)[1]

    def decode(self, x: Tensor, batch: Batch, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Return the states of the encoder, float (B, T, D), and of the decoder, (B, C, D)."""
        assert self.decoder is not None
        length = batch.ids.shape[1]
        memory = self.forward(x[:, :length], inputs)
        return memory, self.decoder(x[:, length:], batch.decoded, memory, batch.segments)

    def target_losses(
        self, x: Tensor, table: Tensor, batch: Batch, bounds: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the loss in nats and whether the prediction is correct, from embeddings on.

        Both are 0 where the weight is.
        """
        # table: float32 (V, D); the others as of :meth:`predictors`; returns float32 (B * C,) twice
        if self.pointer is None:
            logits = self.logits(self.predictors(x, batch, bounds).flatten(0, 1), table).float()
        else:
            memory, states = self.decode(x, batch, self.attention_inputs(batch, bounds))
            logits = self.pointer(states, memory, batch).flatten(0, 1)
        targets, weights = batch.targets.flatten(), batch.weights.flatten()
        loss = F.cross_entropy(logits, targets, reduction="none")
        right = (logits.detach().argmax(-1) == targets).float()
        return loss * weights, right * weights

    def losses(
        self, x: Tensor, table: Tensor, batch: Batch, bounds: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the summed loss in nats and the correct predictions; see :meth:`target_losses`."""
        # returns float32 () twice
        loss, right = self.target_losses(x, table, batch, bounds)
        return loss.sum(), right.sum()


class MaskedLanguageModel(nn.Module):
    """Embeddings, blocks, and a head that predicts masked pieces or, if causal, the next ones.

    With ``max_segments`` (per row) above 0, the loss uses the varlen attention kernel; see
    :func:`firth.pretrain.model.varlen.varlen_works`.
    """

    sinusoids: Tensor

    def __init__(self, config: EncoderConfig, *, seed: int = 1) -> None:
        super().__init__()
        self.config = config
        self.pieces = nn.Embedding(config.n_pieces, config.dim)
        if config.positions == "learned":
            self.position_table = nn.Embedding(config.max_length, config.dim)
        elif config.positions == "sinusoidal":
            # Vaswani et al. multiply embeddings of variance 1/D by sqrt(D) and add the sinusoids;
            # this is the same proportion without the common factor, which the norm removes
            table = sinusoids(config.max_length, config.dim) * INIT_STD
            self.register_buffer("sinusoids", table, persistent=False)
        self.core = Core(config)
        self.sentinels = nn.Embedding(config.sentinels, config.dim) if config.sentinels else None
        self.max_segments = 0
        init_weights(self, seed)

    @property
    def table(self) -> Tensor:
        """The embeddings of all pieces, then of all sentinels, float32 (V + S, D)."""
        pieces = self.pieces.weight
        return pieces if self.sentinels is None else torch.cat([pieces, self.sentinels.weight])

    def embed(self, rows: Rows, table: Tensor | None = None) -> Tensor:
        """Sum piece and position embeddings; not compiled, which would vary sums of gradients."""
        # table: :attr:`table`, if it is at hand; returns float32 (B, T, D)
        x = F.embedding(rows.ids, self.table if table is None else table)
        if self.config.positions == "learned":
            x = x + self.position_table(rows.positions)
        elif self.config.positions == "sinusoidal":
            x = x + self.sinusoids[rows.positions]
        return x

    def forward(self, rows: Rows, chosen: Tensor | None = None) -> Tensor:
        """Return the final states, of all slots or of the chosen ones."""
        # chosen: int64 (B, C); returns float32 (B, T or C, D)
        final: Tensor = self.core(self.embed(rows), self.core.attention_inputs(rows), chosen)
        return final

    def states(self, rows: Rows, *, layers: int | None = None) -> list[Tensor]:
        """Return the states after the embeddings and after each block, up to ``layers`` blocks.

        The last of all is after the final norm, if there is one.
        """
        # returns list of float32 (B, T, D)
        inputs = self.core.attention_inputs(rows)
        found = [self.core.first_states(self.embed(rows))]
        for block in self.core.blocks[:layers]:
            found.append(block(found[-1], inputs))
        if len(found) == self.config.layers + 1:
            found[-1] = self.core.norm(found[-1])
        return found

    def attentions(self, rows: Rows, layers: Collection[int] | None = None) -> Tensor:
        """Return the attention weights of layers and all heads, by the plain formula."""
        # returns float32 (L, B, heads, T, T)
        inputs = self.core.attention_inputs(rows)
        full = dataclasses.replace(inputs, allowed=visible(rows.segments, self.config.causal))
        x = self.core.first_states(self.embed(rows))
        found = []
        for layer, block in enumerate(self.core.blocks):
            assert isinstance(block, Block)
            if layers is None or layer in layers:
                found.append(block.mixer.weights(block.mixer_inputs(x), full))
            x = block(x, inputs)
        return torch.stack(found)

    def logits(self, states: Tensor) -> Tensor:
        """Score every piece."""
        # states: float (..., D); returns float32 (..., V)
        return self.core.logits(states, self.pieces.weight).float()

    def loss_inputs(self, batch: Batch) -> tuple[Tensor, Tensor, Batch, Tensor | None]:
        """Return the arguments of the core's ``losses`` and ``target_losses``."""
        bounds, table = None, self.table
        if self.max_segments:
            bounds = segment_bounds(batch.segments, self.max_segments * len(batch.segments))
        x = self.embed(batch, table)
        if batch.decoder is not None:
            x = torch.cat([x, self.embed(batch.decoded, table)], 1)
        return x, table, batch, bounds

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the summed loss in nats and the correct predictions at the chosen slots."""
        return self.core.losses(*self.loss_inputs(batch))


def init_weights(model: MaskedLanguageModel, seed: int) -> None:
    """Initialize the weights, the same on every device.

    Normal, with layers that write into the residual sum scaled down by sqrt(2 L), as in GPT-2
    (Radford et al. 2019, section 2.3).
    """
    generator = torch.Generator().manual_seed(seed)
    residual_std = INIT_STD / (2 * model.config.layers) ** 0.5
    for name, weight in model.named_parameters():
        last = name.rpartition(".")[2]
        with torch.no_grad():
            if "norm" in name:
                weight.fill_(0.0 if last == "bias" else 1.0)
            elif last.startswith("bias"):
                weight.zero_()
            elif last.endswith(("_map", "score_vector", "filters")) or "cells." in name:
                weight.normal_(0.0, weight.shape[-1] ** -0.5, generator=generator)
            else:
                std = residual_std if name.endswith("out.weight") else INIT_STD
                weight.normal_(0.0, std, generator=generator)
