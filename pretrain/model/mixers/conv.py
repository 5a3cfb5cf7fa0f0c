"""A convolutional mixer: each dimension is filtered over the slots nearby.

Depthwise-separable (Kaiser et al. 2018, arXiv:1706.03059) with a gate before it (Dauphin et al.
2017, arXiv:1612.08083), as in Wu et al. 2019 (arXiv:1901.10430), figure 2.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.model.mixers.base import AttentionInputs, Mixer, segment_starts, take_slots
from firth.pretrain.shape import EncoderConfig


class Convolution(Mixer):
    """out(filters * (a sigmoid(b))) with a, b = inner(x); ``between`` comes after the filters."""

    def __init__(
        self, config: EncoderConfig, layer: int, *, between: nn.Module | None = None
    ) -> None:
        super().__init__()
        assert config.conv_width is not None
        self.causal = config.causal
        self.inner = nn.Linear(config.dim, 2 * config.dim, bias=config.biases)
        self.filters = nn.Parameter(torch.empty(config.dim, 1, config.conv_width))
        self.norm_between = between or nn.Identity()
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return the filtered states of each segment, with zeros beyond its ends."""
        value, gate = self.inner(x).chunk(2, dim=-1)
        filtered = convolve(value * gate.sigmoid(), self.filters, inputs.segments, self.causal)
        mapped: Tensor = self.out(self.norm_between(take_slots(filtered, chosen)))
        return mapped

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return the two maps; filters are no matrices."""
        return [(self.inner.weight, 2), (self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of the first map and the filters in all slots, and of the last map."""
        before = self.inner.weight.numel() + self.filters.numel()
        return length * before + n_out * self.out.weight.numel()


@torch.compiler.disable  # the number of slots depends on the batch
def convolve(x: Tensor, filters: Tensor, segments: Tensor, causal: bool) -> Tensor:
    """Filter each dimension within segments; causal: by the slots before and the slot itself.

    All rows are laid end to end, with so many zeros between segments that no filter spans two.
    """
    # x: float (B, T, D); filters: float (D, 1, width); segments: int64 (B, T)
    width, dim = filters.shape[-1], x.shape[-1]
    gap = width - 1 if causal else width // 2  # slots before the one in question
    slots = torch.arange(segments.numel(), device=x.device)
    places = slots + gap * segment_starts(segments).flatten().cumsum(0)
    spread = filters.new_zeros(int(places[-1]) + width - gap, dim)
    spread = spread.index_copy(0, places, x.flatten(0, 1).to(filters.dtype))
    # as an image one pixel high, stored pixel by pixel: torch's fastest layout
    image = spread.view(1, 1, -1, dim).permute(0, 3, 1, 2)
    with torch.autocast(x.device.type, enabled=False):  # a CPU filters slower in half precision
        filtered = F.conv2d(image, filters[:, :, None], groups=dim).permute(0, 2, 3, 1)
    return filtered.reshape(-1, dim).index_select(0, places - gap).view_as(x)
