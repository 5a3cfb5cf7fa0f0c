"""Speed of the mixers: forward and backward, beside plain torch modules on the same rows.

Plain torch reads each row as one sequence, which lets segments see each other; ours cuts at the
ends of segments. Neither has the blocks' feed-forward parts or norms, which are the same.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import harness
import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.config import MlmConfig
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.attention import build_attention_inputs
from firth.pretrain.model.layers import FeedForward
from firth.pretrain.objectives import CAUSAL, MASKED
from firth.pretrain.shape import EncoderConfig

PLAIN = ("lstm", "gru", "conv", "conformer")
LENGTHS, SLOTS = (512, 1024, 2048, 4096, 8192), 8192  # of a row, and of all rows
MIXED = {"attention": {}, "attention 64": {"attention": "64"}, "linear": {"mixer": "linear"}}
PIECES = {"sentences": 25, "documents": 1000}  # of a segment, on average


class PlainRecurrent(nn.Module):
    """torch's module and a linear map."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU], dim: int) -> None:
        super().__init__()
        self.cells = kind(dim, dim // 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        mapped: Tensor = self.out(self.cells(x)[0])
        return mapped


class PlainConvolution(nn.Module):
    """A gated linear unit, torch's depthwise convolution, and a linear map."""

    def __init__(self, dim: int, width: int, between: nn.Module) -> None:
        super().__init__()
        self.inner = nn.Linear(dim, 2 * dim, bias=False)
        self.filters = nn.Conv1d(dim, dim, width, padding=width // 2, groups=dim, bias=False)
        self.between = between
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        filtered = self.filters(F.glu(self.inner(x)).transpose(1, 2)).transpose(1, 2)
        mapped: Tensor = self.out(self.between(filtered))
        return mapped


class PlainConformer(nn.Module):
    """A feed-forward part, torch's attention to the whole row, and a convolution."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        dim = config.dim
        assert config.conv_width is not None
        self.norms = nn.ModuleList(nn.LayerNorm(dim, bias=False) for _ in range(3))
        self.first = FeedForward(config)
        self.attention = nn.MultiheadAttention(dim, config.heads, bias=False, batch_first=True)
        between = nn.Sequential(nn.LayerNorm(dim, bias=False), nn.SiLU())
        self.conv = PlainConvolution(dim, config.conv_width, between)

    def forward(self, x: Tensor) -> Tensor:
        added = self.first(self.norms[0](x))
        state = self.norms[1](x + added)
        added = added + self.attention(state, state, state, need_weights=False)[0]
        last: Tensor = self.conv(self.norms[2](x + added))
        return added + last


def plain(name: str, config: EncoderConfig) -> nn.Module:
    """Return the layer of plain torch that does what a mixer does, but for segments."""
    if name == "conformer":
        return PlainConformer(config)
    if name == "conv":
        assert config.conv_width is not None
        return PlainConvolution(config.dim, config.conv_width, nn.Identity())
    return PlainRecurrent(nn.LSTM if name == "lstm" else nn.GRU, config.dim)


def packed_segments(rows: int, length: int, mean: int) -> Tensor:
    """Draw lengths of segments with some mean, at least 3, and lay them end to end."""
    generator = torch.Generator().manual_seed(1)
    draws = torch.empty(rows * length).exponential_(1 / mean, generator=generator)
    ends = (draws.long() + 3).cumsum(0)
    slots = torch.arange(rows * length).view(rows, length)
    numbers = torch.searchsorted(ends, slots, right=True)
    return numbers - numbers[:, :1]


def speed(
    names: Sequence[str], preset: str, *, rows: int, length: int, repeats: int, dtype: torch.dtype
) -> dict[str, Any]:
    """Time all layers of each mixer and of plain torch in turns, by the kind of text."""
    found: dict[str, Any] = {}
    for name in names:
        config = MlmConfig(preset=preset, mixer=name, sequence_length=length).shape(n_pieces=1)
        ours = nn.ModuleList(MIXERS[name].load()(config, n) for n in range(config.layers))
        peers = nn.ModuleList(plain(name, config) for _ in range(config.layers))
        for weight in [*ours.parameters(), *peers.parameters()]:
            nn.init.normal_(weight, 0.0, 0.02)
        x = torch.randn(rows, length, config.dim, requires_grad=True)
        candidates = {"torch": _steps(x, [lambda y, peer=peer: peer(y) for peer in peers], dtype)}
        for text, mean in PIECES.items():
            segments = packed_segments(rows, length, mean)
            # plain attention has no positions either
            inputs = build_attention_inputs(config, segments, None)
            layers = [lambda y, one=one, given=inputs: one(y, given) for one in ours]
            candidates[text] = _steps(x, layers, dtype)
        measured = harness.time_functions(candidates, repeats)
        found[name] = {
            "preset": preset,
            "seconds": {each: one.seconds for each, one in measured.items()},
            **{
                f"{text}_times_torch": measured[text].median / measured["torch"].median
                for text in PIECES
            },
        }
    return found


def lengths(preset: str, *, repeats: int, dtype: torch.dtype) -> dict[str, Any]:
    """Measure one layer by how slots are mixed, on as many slots in rows of several lengths.

    Every row is one segment. Processor time, in turns; the keys are objective, length and mixer.
    """
    found: dict[str, Any] = {objective: {} for objective in (MASKED, CAUSAL)}
    for objective in (MASKED, CAUSAL):
        for length in LENGTHS:
            segments = torch.zeros(SLOTS // length, length, dtype=torch.long)
            candidates = {}
            for name, options in MIXED.items():
                settings = {"preset": preset, "objective": objective, "sequence_length": length}
                config = MlmConfig(**settings, **options).shape(n_pieces=1)
                layer = MIXERS[config.mixers[0]].load()(config, 0)
                for weight in layer.parameters():
                    nn.init.normal_(weight, 0.0, 0.02)
                x = torch.randn(*segments.shape, config.dim, requires_grad=True)
                inputs = build_attention_inputs(config, segments, None)
                run = [lambda y, one=layer, given=inputs: one(y, given)]
                candidates[name] = _steps(x, run, dtype)
            seconds: dict[str, list[float]] = {name: [] for name in candidates}
            for name in [*candidates, *harness.turns(list(candidates), repeats)]:
                start = time.process_time()
                candidates[name]()
                seconds[name].append(time.process_time() - start)
            medians = {name: statistics.median(each[1:]) for name, each in seconds.items()}
            found[objective][str(length)] = {
                name: {"seconds": seconds[name][1:], "microseconds_per_slot": one / SLOTS * 1e6}
                for name, one in medians.items()
            }
    return found


def _steps(
    x: Tensor, layers: Sequence[Callable[[Tensor], Tensor]], dtype: torch.dtype
) -> Callable[[], None]:
    """Return a function that runs layers with residual sums, forward and backward."""

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            state = x
            for layer in layers:
                state = state + layer(state)
            loss = state.float().square().mean()
        loss.backward()

    return step
