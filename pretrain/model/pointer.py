"""A pointer network's scores (Vinyals et al. 2015, arXiv:1506.03134, section 2.3)."""

import torch
from torch import Tensor, nn

from firth.pretrain.data.batches import Batch
from firth.pretrain.shape import EncoderConfig

_NOWHERE = -1e9  # finite, so that the loss of unused slots is 0 and not NaN


class Pointer(nn.Module):
    """Scores u_mn = v . tanh(W x_n + U h_m) of the encoder's slots n for the decoder's slots m."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.of_encoder = nn.Linear(config.dim, config.dim, bias=False)  # W
        self.of_decoder = nn.Linear(config.dim, config.dim, bias=False)  # U
        self.score_vector = nn.Parameter(torch.empty(config.dim))  # v

    def forward(self, states: Tensor, memory: Tensor, batch: Batch | None = None) -> Tensor:
        """Score the slots, those of other segments of a batch hardly at all."""
        # states: float (B, C, D); memory: float (B, T, D); returns float32 (B, C, T)
        sums = self.of_encoder(memory)[:, None] + self.of_decoder(states)[:, :, None]
        scores = torch.tanh(sums) @ self.score_vector.to(sums.dtype)
        if batch is None:
            return scores.float()
        foreign = batch.decoded.segments[..., None] != batch.segments[:, None]
        return scores.float().masked_fill(foreign, _NOWHERE)

    def products(self, length: int, n_slots: int) -> int:
        """Count the multiplications of a row, forward."""
        dim = len(self.score_vector)
        return (length + n_slots) * dim**2 + length * n_slots * dim
