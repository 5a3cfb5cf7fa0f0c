"""Attention over segments of any length laid end to end, by torch's own CUDA kernel.

``torch.nn.attention.varlen``, for CUDA and half precision; it has windows from torch 2.11 on.
"""

import math

import torch
from torch import Tensor

MAX_SEGMENTS = 65_535  # of one call: CUDA's greatest second dimension of a grid
_NEAR, _NEAR_GRADIENT = 0.05, 0.2  # what bfloat16 leaves of numbers of about 1 and 5


def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, bounds: Tensor, scale: float, span: int | None
) -> Tensor:
    """Let each slot attend to its own segment."""
    # q, k, v: float16 or bfloat16 (B, T, heads, head_dim); bounds: int32 (n + 1,); returns of the
    # type of q (B, T, D)
    from torch.nn.attention.varlen import varlen_attn

    rows, length = q.shape[:2]
    # 1 / sqrt(head_dim) is built in: an option for another scale is younger than the kernel
    factor = scale * q.shape[-1] ** 0.5
    if not math.isclose(factor, 1.0):
        q = q * factor
    window = (-1, -1) if span is None else (span, span)
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
    assert isinstance(mixed, Tensor)  # a pair only where more is asked for
    return mixed.reshape(rows, length, -1)


def segment_bounds(segments: Tensor, most: int) -> Tensor:
    """List where segments start, in a tensor whose length never changes."""
    # segments: int64 (B, T); returns int32 (most + 1,)
    starts = torch.ones_like(segments, dtype=torch.bool)
    starts[:, 1:] = segments[:, 1:] != segments[:, :-1]
    n_slots = segments.numel()
    slots = torch.arange(n_slots, device=segments.device)
    first = torch.where(starts.flatten(), slots, n_slots).sort().values[:most]
    end = torch.full((most + 1 - len(first),), n_slots, device=segments.device)
    return torch.cat([first, end]).to(torch.int32)


def varlen_works(device: torch.device, head_dim: int) -> bool:
    """Try the kernel on two short segments, forward and backward, against the plain formula."""
    if device.type != "cuda":
        return False
    generator = torch.Generator().manual_seed(1)
    drawn = torch.randn(3, 1, 16, 2, head_dim, generator=generator).to(device, torch.bfloat16)
    segments = (torch.arange(16, device=device) >= 5).long()[None]
    try:
        return all(_agrees(drawn, segments, span) for span in (None, 3))
    except (ImportError, NotImplementedError, RuntimeError, TypeError):
        return False


def _agrees(drawn: Tensor, segments: Tensor, span: int | None) -> bool:
    """Whether kernel and formula give the same of these queries, keys and values."""
    scale = drawn.shape[-1] ** -0.5
    bounds = segment_bounds(segments, 4)  # two of them empty
    given = drawn.clone().requires_grad_()
    plain = drawn.to(torch.float32, copy=True).requires_grad_()
    got = varlen_attention(given[0], given[1], given[2], bounds, scale, span)
    at = torch.arange(16, device=drawn.device)
    allowed = segments[0][:, None] == segments[0]
    if span is not None:
        allowed = allowed & ((at[:, None] - at).abs() <= span)
    q, k, v = plain.unbind()
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    expected = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
    got.float().square().sum().backward()
    expected.square().sum().backward()
    assert given.grad is not None
    assert plain.grad is not None
    near = (got.float() - expected).abs().max() < _NEAR
    return bool(near and (given.grad.float() - plain.grad).abs().max() < _NEAR_GRADIENT)
