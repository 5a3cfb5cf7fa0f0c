"""Position encodings: sinusoids (Vaswani et al. 2017) and rotary (Su et al. 2021)."""

import torch
from torch import Tensor, nn

_BASE = 10_000.0


def angles(length: int, dim: int) -> Tensor:
    """Return the angle of each position in each plane, t / 10000^(2i/d), float64 (T, d / 2)."""
    rates = _BASE ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.arange(length, dtype=torch.float64)[:, None] * rates


class Rotary(nn.Module):
    """Tables of cosines and sines, looked up by position."""

    cosines: Tensor
    sines: Tensor

    def __init__(self, length: int, dim: int) -> None:
        super().__init__()
        phase = angles(length, dim)
        self.register_buffer("cosines", phase.cos().float(), persistent=False)
        self.register_buffer("sines", phase.sin().float(), persistent=False)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cosines and sines of slots, float32 (B, T, 1, dim / 2) each."""
        # positions: int64 (B, T)
        return self.cosines[positions][:, :, None], self.sines[positions][:, :, None]


def sinusoids(length: int, dim: int) -> Tensor:
    """Return the table that is added to the embeddings (arXiv:1706.03762, section 3.5)."""
    # returns float32 (T, D): sines in even columns, cosines in odd ones
    phase = angles(length, dim)
    return torch.stack([phase.sin(), phase.cos()], dim=-1).flatten(1).float()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate the planes (i, i + d/2) of queries or keys (RoFormer, arXiv:2104.09864, equation 34).

    The product of a query and a key then depends on their distance only.
    """
    # x: float (B, T, heads, d); cosines, sines: float32 (B, T, 1, d / 2)
    first, second = x.float().chunk(2, dim=-1)
    rotated = torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)
    return rotated.to(x.dtype)
