"""The decoder of a transformer: masked self-attention, cross-attention, feed-forward parts.

Vaswani et al. 2017 (arXiv:1706.03762), section 3.1, in the layout of the encoder's blocks.
"""

import dataclasses

import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.data.batches import Rows
from firth.pretrain.model.attention import SelfAttention, build_attention_inputs
from firth.pretrain.model.layers import Block, norm
from firth.pretrain.model.mixers.base import AttentionInputs, n_matrix_weights
from firth.pretrain.model.positions import Rotary
from firth.pretrain.shape import EncoderConfig


class CrossAttention(SelfAttention):
    """Attention of the decoder's slots to the encoder's states, without positions."""

    def _project(self, x: Tensor, inputs: AttentionInputs) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries of the slots, keys and values of the encoder's states."""
        assert inputs.memory is not None
        n, weight, bias = x.shape[-1], self.qkv.weight, self.qkv.bias
        of_q, of_kv = (None, None) if bias is None else (bias[:n], bias[n:])
        q = F.linear(x, weight[:n], of_q).unflatten(-1, (self.heads, self.head_dim))
        kv = F.linear(inputs.memory, weight[n:], of_kv)
        k, v = kv.unflatten(-1, (2, self.heads, self.head_dim)).unbind(2)
        return q, k, v


class DecoderBlock(Block):
    """Self-attention, cross-attention and a feed-forward part, each with residual and norm."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__(config, layer)
        self.cross = CrossAttention(dataclasses.replace(config, positions="none"), layer)
        self.cross_norm = norm(config)

    def forward(self, x: Tensor, inputs: AttentionInputs, cross: AttentionInputs) -> Tensor:  # type: ignore[override]
        """Run the block."""
        # x: float (B, C, D); returns the same
        x = self._added(x, self.mixer_norm, self.mixer, inputs)
        x = self._added(x, self.cross_norm, self.cross, cross)
        return self._added(x, self.feed_forward_norm, self.feed_forward)

    def weights(self, x: Tensor, inputs: AttentionInputs, cross: AttentionInputs) -> Tensor:
        """Return how much each slot reads of each state of the encoder, float32 (B, H, C, T)."""
        x = self._added(x, self.mixer_norm, self.mixer, inputs)
        return self.cross.weights(self.cross_norm(x) if self.pre else x, cross)

    def _added(
        self, x: Tensor, norm: nn.Module, part: nn.Module, *inputs: AttentionInputs
    ) -> Tensor:
        """Add what a part makes of the states, with its norm before it or after the sum."""
        read = norm(x) if self.pre else x
        total: Tensor = x + self.dropout(part(read, *inputs))
        return total if self.pre else norm(total)


class Decoder(nn.Module):
    """States over an encoder's states: slots see those before them, and all of their segment there.

    Segments have the encoder's numbers, so nothing crosses from one to another. Of use for any
    target sequence: a head or scores over ``memory`` make predictions of the states.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding_norm = norm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(DecoderBlock(config, n) for n in range(config.layers))
        self.norm = norm(config) if config.norm == "pre" else nn.Identity()
        rotates = config.positions == "rotary"
        self.rotary = Rotary(config.max_length, config.key_dim) if rotates else None

    def forward(
        self,
        x: Tensor,
        rows: Rows,
        memory: Tensor,
        segments: Tensor,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """Return the states of the slots of ``rows``, whose summed embeddings are ``x``.

        ``weights`` gets those of each layer's cross-attention, float32 (B, H, C, T).
        """
        # x: float32 (B, C, D); memory: float (B, T, D), of which segments are int64 (B, T), -1 for
        # padding; returns float (B, C, D)
        rotary = self.rotary(rows.positions) if self.rotary else None
        inputs = build_attention_inputs(self.config, rows.segments, rotary)
        slots = rows.segments[..., None]
        allowed = (slots == segments[:, None]) | (slots < 0)  # padding needs a key, else it is NaN
        cross = AttentionInputs(rows.segments, allowed=allowed, memory=memory)
        x = self.dropout(self.embedding_norm(x))
        for block in self.blocks:
            assert isinstance(block, DecoderBlock)
            if weights is not None:
                weights.append(block.weights(x, inputs, cross))
            x = block(x, inputs, cross)
        final: Tensor = self.norm(x)
        return final

    def products(self, length: int, n_slots: int) -> int:
        """Count the multiplications of a row of ``length`` encoder slots, forward."""
        dim, total = self.config.dim, 0
        for block in self.blocks:
            # the matrices, keys and values of the other slots, then scores and sums
            total += n_slots * n_matrix_weights(block) + 2 * (length - n_slots) * dim**2
            total += 2 * n_slots * (n_slots * self.config.attends + length) * dim
        return total
