"""Recurrent mixers: a state that is carried from slot to slot, by torch's LSTM and GRU.

LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; in both directions:
Schuster and Paliwal 1997, Graves and Schmidhuber 2005. GRU: Cho et al. 2014 (arXiv:1406.1078).
"""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from pretrain.config import EncoderConfig
from pretrain.model.mixers.base import (
    AttentionInputs,
    Mixer,
    n_matrix_weights,
    segment_starts,
    take_slots,
)


class Recurrent(Mixer):
    """Reads each segment from both ends, with half of the width each; causal: from the first slot.

    Every segment starts from a zero state, so that none sees another.
    """

    kind: ClassVar[type[nn.LSTM] | type[nn.GRU]]
    gates: ClassVar[int]  # matrices that torch stacks into one

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        n_directions = 1 if config.causal else 2
        self.cells = self.kind(
            config.dim, config.dim // n_directions, bidirectional=n_directions == 2
        )
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Return the mapped states of the cells; padding is not read and gets 0."""
        mapped: Tensor = self.out(take_slots(self._read(x, inputs.segments), chosen))
        return mapped

    @torch.compiler.disable  # the number of steps depends on the batch
    def _read(self, x: Tensor, segments: Tensor) -> Tensor:
        """Run the cells over all segments at once, float (B, T, D)."""
        order, sizes = time_order(segments)
        states = self.cells(PackedSequence(x.flatten(0, 1).index_select(0, order), sizes))[0].data
        empty = states.new_zeros(segments.numel(), states.shape[-1])
        return empty.index_copy(0, order, states).view(*segments.shape, -1)

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return those of the cells, gates stacked, and the map."""
        cells = [(weight, self.gates) for weight in self.cells.parameters() if weight.ndim == 2]
        return [*cells, (self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of the cells in all slots, and of the map in those wanted."""
        return length * n_matrix_weights(self.cells) + n_out * self.out.weight.numel()


class Lstm(Recurrent):
    """Long short-term memory."""

    kind, gates = nn.LSTM, 4


class Gru(Recurrent):
    """Gated recurrent units."""

    kind, gates = nn.GRU, 3


def time_order(segments: Tensor) -> tuple[Tensor, Tensor]:
    """Return the slots of all segments step by step, and how many segments take each step.

    As :class:`PackedSequence` has it: longer segments first in each step. Padding is left out.
    """
    # segments: int64 (B, T); returns int64 (n,), of the B * T slots, and int64 (steps,) on the CPU
    starts = segment_starts(segments).flatten()
    numbers = starts.cumsum(0) - 1
    first = starts.nonzero().flatten()
    lengths = torch.bincount(numbers)[numbers]
    steps = torch.arange(len(numbers), device=segments.device) - first[numbers]
    used = (segments.flatten() >= 0).nonzero().flatten()
    longest = segments.shape[1]
    order = used[(steps * (longest + 1) + longest - lengths)[used].argsort(stable=True)]
    return order, torch.bincount(steps[used]).cpu()
