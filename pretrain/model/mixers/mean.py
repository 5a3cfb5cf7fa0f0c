"""Each slot sees the mean of its segment: the simplest encoder that has any context."""

from torch import Tensor, nn

from firth.pretrain.model.mixers.base import AttentionInputs, Mixer, take_slots
from firth.pretrain.shape import EncoderConfig


class Mean(Mixer):
    """A linear map of the mean state of the segment; causal: of the slots so far.

    This is attention with equal weights: without order, and the same for all slots.
    """

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.causal = config.causal
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return the mapped means."""
        # not by running sums, which would round by what is in other segments
        same = inputs.segments[:, :, None] == inputs.segments[:, None, :]
        same = take_slots(same.tril() if self.causal else same, chosen)
        weights = same / same.sum(-1, keepdim=True)
        mapped: Tensor = self.out(weights.to(x.dtype) @ x)
        return mapped

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return the map."""
        return [(self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of the sums and of the map."""
        return n_out * (length * self.out.in_features + self.out.weight.numel())
