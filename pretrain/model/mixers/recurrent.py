"""Recurrent mixers: a state that is carried from slot to slot, by torch's LSTM, GRU and RNN.

LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; in both directions:
Schuster and Paliwal 1997, Graves and Schmidhuber 2005. GRU: Cho et al. 2014 (arXiv:1406.1078).
Without gates: Elman 1990.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.pretrain.model.mixers.base import (
    AttentionInputs,
    Mixer,
    n_matrix_weights,
    segment_starts,
    take_slots,
)
from firth.pretrain.shape import EncoderConfig

_SHUT = -1e4  # makes a gate exactly 0, and tanh exactly -1, in any precision


class Recurrent(Mixer):
    """Reads each segment from both ends, with half of the width each; causal: from the first slot.

    Every segment starts from the same state, 0 if there are gates. So that torch's fast kernels can
    read a row with several segments, one more slot between them clears the state: one more input, 1
    there and 0 elsewhere, shuts all gates.
    """

    cells_of: ClassVar[type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]]
    run: ClassVar[Callable[..., tuple[Tensor, ...]]]
    gates: ClassVar[int]  # matrices that torch stacks into one

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.n_directions = 1 if config.causal else 2
        self.units = config.dim // self.n_directions
        both = self.n_directions == 2
        self.cells = self.cells_of(config.dim, self.units, bidirectional=both)
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return the mapped states of the cells; padding is not read and gets 0."""
        mapped: Tensor = self.out(take_slots(self._read(x, inputs.segments), chosen))
        return mapped

    @torch.compiler.disable  # the number of steps depends on the batch
    def _read(self, x: Tensor, segments: Tensor) -> Tensor:
        """Run the cells over all rows, float (B, T, D)."""
        rows, length, dim = x.shape
        places = places_with_gaps(segments)
        width = int(places.max()) + 1
        places = (places + width * torch.arange(rows, device=x.device)[:, None]).flatten()
        padding = (segments < 0)[..., None]
        known = torch.cat([x.masked_fill(padding, 0.0), padding.to(x.dtype)], -1).flatten(0, 1)
        clearing = F.pad(x.new_zeros(rows * width, dim), (0, 1), value=1.0)
        spread = clearing.index_copy(0, places, known).view(rows, width, -1)
        states = self._run(spread).flatten(0, 1)
        return states.index_select(0, places).view(rows, length, -1)

    def _run(self, x: Tensor) -> Tensor:
        """Run the cells with the clearing input, float (B, T, D + 1) to (B, T, D)."""
        weights = []
        for into, hidden, bias, hidden_bias in self.cells.all_weights:
            column = self.clearing(bias)[:, None]
            weights += [torch.cat([into, column], 1), hidden, bias, hidden_bias]
        start = x.new_zeros(self.n_directions, len(x), self.units)
        options = (True, 1, 0.0, self.training, self.n_directions == 2, True)
        if not in_half_precision(x.device):
            with torch.autocast(x.device.type, enabled=False):
                return type(self).run(x.float(), self.first(start.float()), weights, *options)[0]
        return type(self).run(x, self.first(start), weights, *options)[0]

    def first(self, zeros: Tensor) -> Any:
        """Return the first state."""
        return zeros

    def clearing(self, bias: Tensor) -> Tensor:
        """Return what the clearing input adds to each gate, float (gates * units,)."""
        raise NotImplementedError

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return those of the cells, gates stacked, and the map."""
        cells = [(weight, self.gates) for weight in self.cells.parameters() if weight.ndim == 2]
        return [*cells, (self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of the cells in all slots, and of the map in those wanted."""
        return length * n_matrix_weights(self.cells) + n_out * self.out.weight.numel()


class Lstm(Recurrent):
    """Long short-term memory: input, forget and output gates shut leave neither cell nor state."""

    cells_of, run, gates = nn.LSTM, staticmethod(torch.lstm), 4

    def first(self, zeros: Tensor) -> tuple[Tensor, Tensor]:
        """Return state and cell."""
        return zeros, zeros

    def clearing(self, bias: Tensor) -> Tensor:
        """Shut all gates: input, forget, (new value), output."""
        shut = bias.new_full((self.units,), _SHUT)
        return torch.cat([shut, shut, torch.zeros_like(shut), shut])


class Gru(Recurrent):
    """Gated recurrent units: with both gates shut the state is the new value, which is made 0."""

    cells_of, run, gates = nn.GRU, staticmethod(torch.gru), 3

    def clearing(self, bias: Tensor) -> Tensor:
        """Shut both gates, and take back the bias of the new value."""
        shut = bias.new_full((2 * self.units,), _SHUT)
        return torch.cat([shut, -bias[2 * self.units :]])


class Elman(Recurrent):
    """A state without gates: tanh is saturated between segments, each of which starts from -1."""

    cells_of, run, gates = nn.RNN, staticmethod(torch.rnn_tanh), 1

    def first(self, zeros: Tensor) -> Tensor:
        """Return the state that the clearing input leaves."""
        return zeros - 1

    def clearing(self, bias: Tensor) -> Tensor:
        """Saturate tanh."""
        return torch.full_like(bias, _SHUT)


def in_half_precision(device: torch.device) -> bool:
    """Return whether torch has cells for bfloat16: for AVX-512 alone.

    On a GPU autocast makes them float16, in which small gradients are 0.
    """
    return device.type == "cpu" and torch.backends.cpu.get_cpu_capability().startswith("AVX512")


def places_with_gaps(segments: Tensor) -> Tensor:
    """Return where slots go so that one slot is free between segments of a row, int64 (B, T)."""
    # segments: int64 (B, T)
    slots = torch.arange(segments.shape[1], device=segments.device)
    return slots + segment_starts(segments).cumsum(1) - 1
