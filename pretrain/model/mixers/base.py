"""What every mixer offers to the blocks, the optimizer and the count of operations."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class AttentionInputs:
    """Segments, positions and masks of a batch, shared by all layers."""

    # int64 (B, T): segment of each slot, -1 for padding; nothing crosses the end of a segment
    segments: Tensor
    # cosines and sines of rotary positions, float32 (B, T, 1, head_dim / 2) each
    rotary: tuple[Tensor, Tensor] | None = None
    # bool (B, T, T): whether the query in slot q may attend to the key in slot k, before a layer's
    # span narrows it; None if no layer needs it. (B, heads, T, T) if heads differ in it
    allowed: Tensor | None = None
    # bool (B * blocks, 1, block, block + 2 * span): the same for blocks of local attention
    local: Tensor | None = None
    # whether ``allowed`` may leave a query without keys; its attention is then 0
    has_pattern: bool = False
    # int32 (n + 1,): where segments start in the concatenated rows, for the varlen kernel
    bounds: Tensor | None = None
    # int64 (B,): the key of each row's random numbers in training; None without any
    noise: Tensor | None = None
    causal: bool = False  # whether a slot sees only itself and those before it
    # float (B, S, D): states whose keys and values cross-attention takes; ``allowed`` is (B, T, S)
    memory: Tensor | None = None


class Mixer(nn.Module):
    """Mixes the states of the slots of each segment; a class of ``(config, layer)``.

    With ``config.causal`` a slot sees only itself and those before it. Weights are initialized by
    name: see :func:`firth.pretrain.model.encoder.init_weights`.
    """

    # whether it takes the states of the residual sum, and has norms of its own
    normalizes: ClassVar[bool] = False

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Mix the states of each segment; of the ``chosen`` slots only, if given."""
        # x: float (B, T, D); chosen: int64 (B, C); returns float (B, T or C, D)
        raise NotImplementedError

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return the matrices for Muon, each with the number of matrices that it joins.

        Without those of mixers and feed-forward parts inside; by default none.
        """
        return []

    def products(self, length: int, n_out: int) -> int:
        """Count the multiplications of a row of which ``n_out`` slots are wanted, forward."""
        raise NotImplementedError


def take_slots(x: Tensor, chosen: Tensor | None) -> Tensor:
    """Gather the chosen slots of each row; all without ``chosen``."""
    # x: (B, T, n); chosen: int64 (B, C); returns (B, T or C, n)
    if chosen is None:
        return x
    return torch.gather(x, 1, chosen[..., None].expand(-1, -1, x.shape[-1]))


def segment_starts(segments: Tensor) -> Tensor:
    """Return in which slots a segment or a stretch of padding starts, bool (B, T)."""
    # segments: int64 (B, T)
    starts = torch.ones_like(segments, dtype=torch.bool)
    starts[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return starts


def n_matrix_weights(part: nn.Module) -> int:
    """Count the weights of all matrices."""
    return sum(weight.numel() for weight in part.parameters() if weight.ndim >= 2)
