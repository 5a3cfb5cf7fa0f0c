"""A start of attention: heads that look at the slots nearby.

Trained encoders have heads that attend to the piece before or after (Voita et al. 2019,
arXiv:1905.09418, section 4.1), and learn little before these. With rotary positions they can be
written down: a query and a key that are the same in all slots have a product that depends on their
distance only. What is the same in all slots is a direction that is added to all embeddings.
"""

import math
from collections.abc import Iterator
from itertools import count, islice

import torch
from torch import Tensor

from firth.pretrain.mixers import ATTENTION
from firth.pretrain.model.attention import SelfAttention
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.layers import Block
from firth.pretrain.model.positions import angles
from firth.pretrain.shape import EncoderConfig

_EVERY = 2  # layers of those that attend; the others start at random
_SHARPNESS = 3.0  # by how much the slot looked at scores higher than its neighbors
_SHARE = 0.5  # of the variance of an embedding that is common to all
_LEAST_ANGLE = 0.2  # radians a slot: slower planes hardly tell neighbors apart
_SEED = 7


def look_nearby(model: MaskedLanguageModel) -> None:
    """Let the heads of every second layer of attention start at the slots around, nearest first.

    Adds a direction to all embeddings, which shifts all logits alike, and so changes no prediction.
    """
    config, table = model.config, model.pieces.weight
    common = common_direction(config.dim)
    with torch.no_grad():
        length = table.std() * (config.dim * _SHARE / (1 - _SHARE)) ** 0.5
        table += length * common
        if model.sentinels is not None:
            model.sentinels.weight += length * common
        layers = [number for number, mixer in enumerate(config.mixers) if mixer == ATTENTION]
        for number in layers[::_EVERY]:
            block = model.core.blocks[number]
            assert isinstance(block, Block)
            _aim(block.mixer, common, config)


def common_direction(dim: int) -> Tensor:
    """Return the direction that all embeddings have in common, of length 1 and mean 0."""
    # returns float32 (D,)
    drawn = torch.randn(dim, generator=torch.Generator().manual_seed(_SEED))
    centered = drawn - drawn.mean()
    return centered / centered.norm()


def _aim(attention: SelfAttention, common: Tensor, config: EncoderConfig) -> None:
    """Add a constant query and key to each head, whose product is highest at its offset."""
    rates = angles(2, config.head_dim)[1]
    fast = rates > _LEAST_ANGLE
    planes = torch.arange(len(rates))[fast]
    # of amplitude a in the planes, the score of a key d slots from the offset is
    # a^2 sum_i cos(rates_i d) / sqrt(head_dim)
    fall = float((1 - rates[fast].cos()).sum())
    amplitude = math.sqrt(_SHARPNESS / fall * config.head_dim**0.5)
    read = common * (amplitude / (config.dim * _SHARE) ** 0.5)  # what norms leave of the direction
    queries, keys, _ = attention.qkv.weight.view(3, config.heads, config.head_dim, config.dim)
    for head, offset in enumerate(islice(_offsets(config.causal), config.heads)):
        turns = (rates[fast] * offset).float()[:, None]
        queries[head, planes] += read
        keys[head, planes] += turns.cos() * read
        keys[head, planes + len(rates)] -= turns.sin() * read


def _offsets(causal: bool) -> Iterator[int]:
    """Return where heads look, slots after their own: -1, 1, -2, 2 ..., or -1, -2 ... if causal."""
    if causal:
        return count(-1, -1)
    return (side * distance for distance in count(1) for side in (-1, 1))
