"""Attention over concatenated segments of varying length, by torch's CUDA kernel.

``torch.nn.attention.varlen`` needs CUDA and half precision, and for windows torch 2.11.
"""

import math

import torch
from torch import Tensor

from firth.pretrain.model.mixers.base import segment_starts

MAX_SEGMENTS = 65_535  # per call: CUDA's limit for the second dimension of a grid
# Of a kernel that is missing, or takes other arguments or gives another result in this torch.
_FAILURES = (ImportError, AttributeError, RuntimeError, TypeError, ValueError, AssertionError)
_TOLERANCE, _GRADIENT_TOLERANCE = 0.05, 0.2  # rounding of bfloat16 for values of about 1 and 5


def varlen_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bounds: Tensor,
    scale: float,
    span: int | None,
    causal: bool = False,
) -> Tensor:
    """Attend within segments, up to ``span`` slots each side (None: all); heads side by side.

    With ``causal``, only to the slot itself and those before it.
    Empty segments at the end of ``bounds`` are allowed.
    """
    # q, k, v: float16 or bfloat16 (B, T, heads, head_dim); bounds: int32 (n + 1,)
    # returns (B, T, D) of q's type
    from torch.nn.attention.varlen import varlen_attn

    rows, length = q.shape[:2]
    # 1 / sqrt(head_dim) is built in; the first versions of the kernel take no other scale
    factor = scale * q.shape[-1] ** 0.5
    if not math.isclose(factor, 1.0):
        q = q * factor
    reach = -1 if span is None else span
    window = (reach, 0 if causal else reach)
    mixed = varlen_attn(
        q.flatten(0, 1),
        k.flatten(0, 1),
        v.flatten(0, 1),
        bounds,
        bounds,
        length,
        length,
        window_size=window,
    )
    assert isinstance(mixed, Tensor)  # a pair only if more outputs are requested
    return mixed.reshape(rows, length, -1)


def segment_bounds(segments: Tensor, limit: int) -> Tensor:
    """Return where segments start in the B * T slots, padded with B * T to a fixed length.

    ``limit`` must be at least the number of segments, stretches of padding included.
    """
    # segments: int64 (B, T); returns int32 (limit + 1,)
    starts, n_slots = segment_starts(segments), segments.numel()
    slots = torch.arange(n_slots, device=segments.device)
    first = torch.where(starts.flatten(), slots, n_slots).sort().values[:limit]
    end = torch.full((limit + 1 - len(first),), n_slots, device=segments.device)
    return torch.cat([first, end]).to(torch.int32)


def varlen_works(device: torch.device, head_dim: int) -> bool:
    """Test the kernel against the plain formula on two short segments, forward and backward.

    False on a CPU, and if the kernel is missing or fails.
    """
    if device.type != "cuda":
        return False
    generator = torch.Generator().manual_seed(1)
    qkv = torch.randn(3, 1, 16, 2, head_dim, generator=generator).to(device, torch.bfloat16)
    segments = (torch.arange(16, device=device) >= 5).long()[None]
    try:
        return all(
            _agrees(qkv, segments, span, causal) for span in (None, 3) for causal in (False, True)
        )
    except _FAILURES:
        return False


def _agrees(qkv: Tensor, segments: Tensor, span: int | None, causal: bool) -> bool:
    """Return whether kernel and formula agree on these queries, keys and values."""
    scale = qkv.shape[-1] ** -0.5
    bounds = segment_bounds(segments, 4)  # the last two are empty
    given = qkv.clone().requires_grad_()
    plain = qkv.to(torch.float32, copy=True).requires_grad_()
    got = varlen_attention(given[0], given[1], given[2], bounds, scale, span, causal)
    slots = torch.arange(16, device=qkv.device)
    allowed = segments[0][:, None] == segments[0]
    if span is not None:
        allowed = allowed & ((slots[:, None] - slots).abs() <= span)
    if causal:
        allowed = allowed.tril()
    q, k, v = plain.unbind()
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    expected = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
    got.float().square().sum().backward()
    expected.square().sum().backward()
    assert given.grad is not None
    assert plain.grad is not None
    close = (got.float() - expected).abs().max() < _TOLERANCE
    return bool(close and (given.grad.float() - plain.grad).abs().max() < _GRADIENT_TOLERANCE)
