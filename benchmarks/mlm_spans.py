"""Truncated attention: does its time grow with the span rather than the length?"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import harness
import numpy as np
import torch

from firth.pretrain.device import synchronize
from firth.pretrain.model.attention import AttentionInputs, SelfAttention, build_attention_inputs
from firth.pretrain.model.varlen import segment_bounds, varlen_works
from firth.pretrain.shape import EncoderConfig

_DIM, _HEADS = 256, 4


def spans(
    device: torch.device, *, rows: int, span: int, lengths: Sequence[int], spans: Sequence[int],
    repeats: int,
) -> dict[str, Any]:  # fmt: skip
    """Time the forward pass of one layer: by blocks, with a dense mask, and by the varlen kernel.

    Return the seconds of each way at every length with one span, and at the greatest length with
    every span; the exponents of the time per slot in the length (0: constant, 1: as with a dense
    mask) and of the time in the span; and the differences between the results.
    """
    by_length: dict[str, Any] = {}
    by_span: dict[str, Any] = {}
    apart = 0.0
    for length in lengths:
        by_length[str(length)], one_apart = _layer(device, rows, length, span, repeats)
        apart = max(apart, one_apart)
    for other in spans:
        by_span[str(other)], one_apart = _layer(device, rows, max(lengths), other, repeats)
        apart = max(apart, one_apart)
    ways = list(next(iter(by_length.values())))
    slot_growth = {
        way: _exponent(lengths, [by_length[str(n)][way] / n for n in lengths]) for way in ways
    }
    span_growth = {way: _exponent(spans, [by_span[str(n)][way] for n in spans]) for way in ways}
    lines = {way: _line(spans, [by_span[str(n)][way] for n in spans]) for way in ways}
    return {
        "rows": rows,
        "dim": _DIM,
        "span": span,
        "seconds_by_length": by_length,
        "seconds_by_span": by_span,
        "exponent_of_a_slot_in_the_length": slot_growth,
        "exponent_in_the_span": span_growth,
        "line_over_the_span": lines,
        "dense_to_blocks": {
            length: found["dense mask"] / found["blocks"] for length, found in by_length.items()
        },
        "largest_difference": apart,
    }


def _layer(
    device: torch.device, rows: int, length: int, span: int, repeats: int
) -> tuple[dict[str, float], float]:
    """Return the median seconds of each way and the differences between their results."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    config = EncoderConfig(
        n_pieces=8, layers=1, heads=_HEADS, dim=_DIM, feed_forward_dim=8, max_length=length,
        positions="none", attention_span=span,
    )  # fmt: skip
    torch.manual_seed(1)
    layer = SelfAttention(config, 0).to(device, dtype)
    x = torch.randn(rows, length, _DIM, device=device, dtype=dtype)
    segments = torch.zeros(rows, length, dtype=torch.int64, device=device)
    blocks = build_attention_inputs(config, segments, None)
    assert blocks.local is not None, "the rows are too short for blocks"
    dense = replace(blocks, local=None, allowed=segments[:, :, None] == segments[:, None, :])
    variants = {"blocks": blocks, "dense mask": dense}
    if varlen_works(device, config.head_dim):
        variants["varlen kernel"] = build_attention_inputs(
            config, segments, None, bounds=segment_bounds(segments, rows)
        )
    with torch.inference_mode():
        results = [layer(x, inputs) for inputs in variants.values()]
        apart = max(float((other - results[1]).abs().max()) for other in results)
        measured = harness.time_functions(
            {name: _call(layer, x, inputs, device) for name, inputs in variants.items()}, repeats
        )
    calls = _calls(device)
    return {name: entry.median / calls for name, entry in measured.items()}, apart


def _call(
    layer: SelfAttention, x: torch.Tensor, inputs: AttentionInputs, device: torch.device
) -> Callable[[], None]:
    def run() -> None:
        with torch.inference_mode():
            for _ in range(_calls(device)):
                layer(x, inputs)
        synchronize(device)

    return run


def _calls(device: torch.device) -> int:
    """Return the number of calls per timing; one call on a GPU is too short."""
    return 20 if device.type == "cuda" else 1


def _exponent(xs: Sequence[int], ys: Sequence[float]) -> float:
    """Return b of the best fit y = a x^b."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def _line(xs: Sequence[int], ys: Sequence[float]) -> dict[str, float]:
    """Return the best straight line and the share of variance that it explains."""
    slope, start = np.polyfit(xs, ys, 1)
    share = float(np.corrcoef(xs, ys)[0, 1] ** 2)
    return {"seconds_per_neighbor": float(slope), "seconds_at_0": float(start), "r_squared": share}
