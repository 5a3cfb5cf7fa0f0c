"""The Conformer (Gulati et al. 2020, arXiv:2005.08100): attention, then a convolution.

Between two feed-forward parts, of which the second is the block's. Norms are over each state, not
over the batch, which would let segments and padding see each other.
"""

from typing import ClassVar

from torch import Tensor, nn

from firth.pretrain.model.attention import SelfAttention
from firth.pretrain.model.layers import FeedForward, norm
from firth.pretrain.model.mixers.base import AttentionInputs, Mixer, take_slots
from firth.pretrain.model.mixers.conv import Convolution
from firth.pretrain.shape import EncoderConfig


class Conformer(Mixer):
    """The sum of what a feed-forward part, attention and a convolution add to the states.

    Equations 1 to 3 of the paper; the factor 1/2 of its feed-forward parts is in their weights.
    """

    normalizes: ClassVar[bool] = True

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.first_norm, self.first = norm(config), FeedForward(config)
        self.attention_norm, self.attention = norm(config), SelfAttention(config, layer)
        after_filters = nn.Sequential(norm(config), nn.SiLU())
        self.conv_norm = norm(config)
        self.conv = Convolution(config, layer, between=after_filters)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return what the three parts add to the residual sum."""
        added = self.first(self.first_norm(x))
        added = added + self.attention(self.attention_norm(x + added), inputs)
        last: Tensor = self.conv(self.conv_norm(x + added), inputs, chosen)
        return take_slots(added, chosen) + last

    def weights(self, x: Tensor, inputs: AttentionInputs) -> Tensor:
        """Compute the attention weights by the plain formula; needs ``inputs.allowed``."""
        return self.attention.weights(
            self.attention_norm(x + self.first(self.first_norm(x))), inputs
        )

    def products(self, length: int, n_out: int) -> int:
        """Count those of the parts; only the convolution ends in the slots wanted."""
        first = length * sum(w.numel() for w in self.first.parameters() if w.ndim == 2)
        return first + self.attention.products(length, length) + self.conv.products(length, n_out)
