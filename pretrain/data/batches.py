"""Batches that depend on seed and step alone, made on the device."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from pretrain.data.masking import Masking, capacity, mask
from pretrain.data.packing import PackedRows, lay_out
from pretrain.data.stateless_random import keyed_bits

HELD_OUT_RATE = 0.15
_HELD_OUT_SEED = 0
_MAX_PASSES = 16  # by then each piece was hidden twice


@dataclass(frozen=True)
class Batch:
    """Rows with some of their pieces hidden; everything lies on the device."""

    ids: torch.Tensor  # int64 (B, T): what the model sees
    # int64 (B, T): number of the segment in its row, from 0; -1 for padding
    segments: torch.Tensor
    positions: torch.Tensor  # int64 (B, T): place in the segment, from 0 at [CLS]; 0 for padding
    # int64 (B, C): columns to predict, ascending; 0 in slots that are not used
    chosen: torch.Tensor
    targets: torch.Tensor  # int64 (B, C): the pieces that stood there
    weights: torch.Tensor  # float32 (B, C): 1 where a slot is used, else 0

    @property
    def n_targets(self) -> torch.Tensor:
        """Pieces to predict, a float32 scalar on the device: reading it here would wait for it."""
        return self.weights.sum()

    def rows(self, first: int, stop: int) -> "Batch":
        """Take some of the rows: a micro-batch, or the share of one process."""
        return Batch(
            self.ids[first:stop],
            self.segments[first:stop],
            self.positions[first:stop],
            self.chosen[first:stop],
            self.targets[first:stop],
            self.weights[first:stop],
        )


class Batches:
    """The batches of a training run: a function of seed and step, and of nothing before.

    Every epoch takes each row once, in an order of its own. The same on any device
    and for any number of processes: each makes the whole batch and takes its share.
    """

    def __init__(
        self,
        rows: PackedRows,
        *,
        batch_rows: int,
        seed: int,
        masking: Masking,
        continues: np.ndarray,
        highest_rate: float,
    ) -> None:
        # continues: bool (V,)
        self.capacity = capacity(rows.sequence_length, highest_rate)
        self._rows = rows
        self._batch_rows = batch_rows
        self._seed = seed
        self._masking = masking
        self._continues = torch.tensor(continues, device=rows.device)
        self._epochs = range(0)
        self._order = torch.empty(0, dtype=torch.int64, device=rows.ids.device)

    def batch(self, step: int, mask_rate: float) -> Batch:
        """Make the batch of a step.

        Nothing waits for the device. At a new epoch its order is made, O(n_rows log n_rows).
        """
        needed = capacity(self._rows.sequence_length, mask_rate)
        assert needed <= self.capacity, (mask_rate, needed, self.capacity)
        ids = self._rows.take(self._row_numbers(step))
        masked = mask(
            ids,
            self._continues,
            self._masking,
            rate=mask_rate,
            capacity=self.capacity,
            seed=self._seed,
            step=step,
        )
        segments, positions = lay_out(ids)
        return Batch(masked.ids, segments, positions, masked.chosen, masked.targets, masked.weights)

    def _row_numbers(self, step: int) -> torch.Tensor:
        """Which rows a batch takes, int64 (B,)."""
        n_rows, first = self._rows.n_rows, step * self._batch_rows
        stop = first + self._batch_rows
        epochs = range(first // n_rows, -(-stop // n_rows))
        if epochs.start not in self._epochs or epochs[-1] not in self._epochs:
            self._epochs, self._order = epochs, self._make_order(epochs)
        begun = self._epochs.start * n_rows
        return self._order[first - begun : stop - begun]

    def _make_order(self, epochs: range) -> torch.Tensor:
        """Shuffle the rows for some epochs, int64 (epochs * n_rows,): by keys, ties by number."""
        n_rows = self._rows.n_rows
        shape, first = (len(epochs), n_rows), epochs.start * n_rows
        keys = keyed_bits(self._seed, 0, "order", shape, self._rows.ids.device, first=first)
        return keys.argsort(dim=1, stable=True).flatten()


def fixed_batches(
    rows: PackedRows, *, batch_rows: int, continues: np.ndarray, n_rows_limit: int
) -> Iterator[Batch]:
    """Mask held-out rows once and for all: single pieces, 15 %, shown 80/10/10.

    Rows and masks depend on the text, its pieces and its rows alone, so that losses of runs
    that agree in these compare, whatever their other options, seed or device. Few rows are
    taken several times, each time under other masks, since the loss over a hundred pieces
    says little.
    """
    # continues: bool (V,)
    on_device = torch.tensor(continues, device=rows.device)
    n_places = min(n_rows_limit, _MAX_PASSES * rows.n_rows)
    spread = max(n_places, rows.n_rows)
    for first in range(0, n_places, batch_rows):
        # the last batch is filled up, since a batch of another shape would compile anew
        places = torch.arange(first, first + batch_rows, device=rows.ids.device)
        ids = rows.take(places.clamp(max=n_places - 1) * spread // n_places % rows.n_rows)
        masked = mask(
            ids,
            on_device,
            Masking(),
            rate=HELD_OUT_RATE,
            capacity=capacity(rows.sequence_length, HELD_OUT_RATE),
            seed=_HELD_OUT_SEED,
            step=0,
            first_row=first,
        )
        segments, positions = lay_out(ids)
        weights = masked.weights * (places < n_places)[:, None].to(rows.device)
        yield Batch(masked.ids, segments, positions, masked.chosen, masked.targets, weights)
