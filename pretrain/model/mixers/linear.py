"""Linear attention (Katharopoulos et al. 2020, arXiv:2006.16236): time grows with T, not T².

Scores are products of positive features instead of a softmax, so a query reads sums over all keys,
which are computed once. Rows are cut into chunks: inside a chunk by the formula, across by sums.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.model.mixers.base import AttentionInputs, Mixer, n_matrix_weights, take_slots
from firth.pretrain.model.positions import rotate
from firth.pretrain.shape import EncoderConfig

CHUNK = 64  # slots
_LEAST = 1e-6  # sum of weights, instead of 0


class LinearAttention(Mixer):
    """out(Σ_j w_tj v_j / Σ_j w_tj) with w_tj = f(q_t)·f(k_j) and f(x) = elu(x) + 1, by heads.

    Rotary positions turn queries and keys before f, so that weights stay positive.
    """

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.causal, self.head_dim = config.causal, config.key_dim
        self.qkv = nn.Linear(config.dim, 3 * config.dim, bias=config.biases)
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return the mapped means; the sums are in float32."""
        q, k, v = self.qkv(x).unflatten(-1, (3, -1, self.head_dim)).unbind(2)
        if inputs.rotary is not None:
            q, k = rotate(q, *inputs.rotary), rotate(k, *inputs.rotary)
        with torch.autocast(x.device.type, enabled=False):
            q, k = F.elu(q.float()) + 1, F.elu(k.float()) + 1
            v = F.pad(v.float(), (0, 1), value=1.0)  # ones, whose sums are those of the weights
            sums = weighted_sums(q, k, v, inputs.segments, self.causal)
            mixed = sums[..., :-1] / sums[..., -1:].clamp(min=_LEAST)
        mapped: Tensor = self.out(take_slots(mixed.flatten(2).to(x.dtype), chosen))
        return mapped

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return queries, keys and values, stacked, and the map of what is mixed."""
        return [(self.qkv.weight, 3), (self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of the maps, inside chunks and, if there are several, of their sums."""
        dim, n_chunks = self.out.in_features, -(-length // CHUNK)
        values = dim + dim // self.head_dim  # and a one in each head
        a_slot = CHUNK * (dim + values)
        if n_chunks > 1:
            a_slot += 2 * (1 if self.causal else 2) * self.head_dim * values
        in_all = n_matrix_weights(self.qkv) * length + a_slot * n_chunks * CHUNK
        return in_all + n_out * n_matrix_weights(self.out)


def weighted_sums(q: Tensor, k: Tensor, v: Tensor, segments: Tensor, causal: bool) -> Tensor:
    """Return Σ_j (q_t·k_j) v_j over the slots j of t's segment; causal: up to t."""
    # q, k: float32 (B, T, heads, d); v: float32 (B, T, heads, e); segments: int64 (B, T)
    length = segments.shape[1]
    fill = -length % CHUNK
    q, k, v = (
        F.pad(x, (0, 0, 0, 0, 0, fill)).unflatten(1, (-1, CHUNK)).transpose(2, 3) for x in (q, k, v)
    )  # (B, chunks, heads, chunk, d or e)
    at = F.pad(segments, (0, fill), value=-2).unflatten(1, (-1, CHUNK))[:, :, None, :, None]
    seen = at == at.transpose(-1, -2)
    seen = seen.tril() if causal else seen
    sums = (q @ k.transpose(-1, -2)).masked_fill(~seen, 0.0) @ v
    if at.shape[1] > 1:
        first, last = at[:, :, :, :1], at[:, :, :, -1:]
        sums = sums + _from_before(q, k, v, at, first, last)
        if not causal:
            turned = (x.flip(1) for x in (q, k, v, at, last, first))
            sums = sums + _from_before(*turned).flip(1)
    return sums.transpose(2, 3).flatten(1, 2)[:, :length]


def _from_before(
    q: Tensor, k: Tensor, v: Tensor, at: Tensor, first: Tensor, last: Tensor
) -> Tensor:
    """Return what the queries of each chunk read of the chunks before it.

    Only segments that go on at the end of a chunk can be read: ``first`` and ``last`` are those at
    its ends. Their sums are added up in log2(chunks) steps over all chunks.
    """
    sums = k.masked_fill(at != last, 0.0).transpose(-1, -2) @ v  # (B, chunks, heads, d, e)
    step = 1
    while step < sums.shape[1]:
        other = last[:, step:] != last[:, :-step]
        more = sums[:, :-step].masked_fill(other, 0.0)
        sums = torch.cat([sums[:, :step], sums[:, step:] + more], 1)
        step *= 2
    sums = sums[:, :-1].masked_fill(last[:, :-1] != first[:, 1:], 0.0)
    return q.masked_fill(at != first, 0.0) @ F.pad(sums, (0, 0, 0, 0, 0, 0, 1, 0))
