"""Attention over segments of any length laid end to end, by torch's own CUDA kernel.

``torch.nn.attention.varlen`` exists from torch 2.11, for CUDA and half precision.
"""

import math

import torch
from torch import Tensor


def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, bounds: Tensor, scale: float, span: int | None
) -> Tensor:
    """Let each slot attend to its own segment.

    Parameters
    ----------
    q, k, v : float16 or bfloat16 (B, T, heads, head_dim)
        On a CUDA device.
    bounds : int32 (n + 1,)
        Where segments start in the B * T slots; empty ones at the end are allowed.
    scale : float
        Of the scores.
    span : int or None
        Neighbours each side; None for all.

    Returns
    -------
    of the type of q (B, T, D)
        Heads laid side by side.
    """
    from torch.nn.attention.varlen import varlen_attn

    rows, length = q.shape[:2]
    # 1 / sqrt(head_dim) is built in: the kernel of torch 2.11 has no option for it
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
    """List where segments start, in a tensor whose length never changes.

    Parameters
    ----------
    segments : int64 (B, T)
        The segment of each slot.
    most : int
        At least the number of segments and stretches of padding.

    Returns
    -------
    int32 (most + 1,)
        Starts in the B * T slots, ascending; the rest holds B * T.
    """
    starts = torch.ones_like(segments, dtype=torch.bool)
    starts[:, 1:] = segments[:, 1:] != segments[:, :-1]
    n_slots = segments.numel()
    slots = torch.arange(n_slots, device=segments.device)
    first = torch.where(starts.flatten(), slots, n_slots).sort().values[:most]
    end = torch.full((most + 1 - len(first),), n_slots, device=segments.device)
    return torch.cat([first, end]).to(torch.int32)


def varlen_works(device: torch.device, head_dim: int) -> bool:
    """Try the kernel on two short segments, against the plain formula.

    Parameters
    ----------
    device : torch.device
        Where the training runs.
    head_dim : int
        Of the encoder.

    Returns
    -------
    bool
        False on a CPU, where there is no such kernel, and wherever it fails or errs.
    """
    if device.type != "cuda":
        return False
    try:
        generator = torch.Generator().manual_seed(1)
        q, k, v = torch.randn(3, 1, 16, 2, head_dim, generator=generator).to(device, torch.bfloat16)
        segments = (torch.arange(16, device=device) >= 5).long()[None]
        got = varlen_attention(q, k, v, segment_bounds(segments, 4), head_dim**-0.5, 3)
    except (ImportError, NotImplementedError, RuntimeError, TypeError):
        return False
    near = (torch.arange(16)[:, None] - torch.arange(16)).abs() <= 3
    allowed = near.to(device) & (segments[0][:, None] == segments[0])
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) * head_dim**-0.5
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    expected = torch.einsum("bhqk,bkhd->bqhd", weights, v.float()).flatten(2)
    return bool((got.float() - expected).abs().max() < 0.05)
