"""Encoder blocks: a mixer and a feed-forward part, with norms and residual connections."""

from typing import Any

from torch import Tensor, nn

from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.mixers.base import AttentionInputs, take_slots
from firth.pretrain.shape import EncoderConfig

EPSILON = {"post": 1e-12, "pre": 1e-5}  # of layer norms: BERT's, ModernBERT's


class FeedForward(nn.Module):
    """Two linear maps with GELU between, by the error function, gated or not.

    geglu is gelu(W x) * V x (Shazeer 2020, arXiv:2002.05202).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.gated = config.feed_forward == "geglu"
        self.activation = nn.GELU()
        width = config.feed_forward_dim
        self.inner = nn.Linear(config.dim, 2 * width if self.gated else width, bias=config.biases)
        self.out = nn.Linear(width, config.dim, bias=config.biases)

    def forward(self, x: Tensor) -> Tensor:
        """Map each state."""
        inner = self.inner(x)
        if not self.gated:
            return self.out(self.activation(inner))
        value, gate = inner.chunk(2, dim=-1)
        return self.out(self.activation(value) * gate)

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return the matrices for Muon, each with the number of matrices that it joins."""
        return [(self.inner.weight, 2 if self.gated else 1), (self.out.weight, 1)]


class Block(nn.Module):
    """A mixer and a feed-forward part, each with its residual connection and norm."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.mixer: Any = MIXERS[config.mixers[layer]].load()(config, layer)
        self.feed_forward = FeedForward(config)
        # the embeddings are normalized already, so ModernBERT's first block starts without a norm
        unnormed = self.pre and (layer == 0 or self.mixer.normalizes)
        self.mixer_norm = nn.Identity() if unnormed else norm(config)
        self.feed_forward_norm = norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def mixer_inputs(self, x: Tensor) -> Tensor:
        """Return the mixer's input: normalized states in the pre-norm layout, else ``x``."""
        states: Tensor = self.mixer_norm(x) if self.pre else x
        return states

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Run the block; with ``chosen``, return the states of those slots only."""
        # x: float (B, T, D); chosen: int64 (B, C); returns float (B, T or C, D)
        kept = take_slots(x, chosen)
        if self.pre:
            x = kept + self.dropout(self.mixer(self.mixer_inputs(x), inputs, chosen))
            after: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
            return after
        x = self.mixer_norm(kept + self.dropout(self.mixer(x, inputs, chosen)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


def norm(config: EncoderConfig) -> nn.LayerNorm:
    """Return a layer norm; BERT's has a bias, ModernBERT's has none."""
    return nn.LayerNorm(config.dim, eps=EPSILON[config.norm], bias=config.biases)
