"""Batches of rows with pieces to predict, made on the device as a function of seed and step."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from firth.pretrain.data.objectives.targets import HELD_OUT_RATE, Objective, Targets
from firth.pretrain.data.packing import PackedRows, lay_out
from firth.pretrain.data.stateless_random import keyed_bits


@dataclass(frozen=True)
class Rows:
    """What a model reads, all on its device."""

    ids: torch.Tensor  # int64 (B, T): pieces that the model sees
    segments: torch.Tensor  # int64 (B, T): from 0 in each row; -1 for padding
    positions: torch.Tensor  # int64 (B, T): within the segment, from 0 at [CLS]; 0 for padding
    # as of :class:`PackedRows`, int (B, 2, T)
    tree: torch.Tensor | None = field(default=None, kw_only=True)
    # bool (B, T, T): edges of a graph, query and key, to which attention is limited
    pattern: torch.Tensor | None = field(default=None, kw_only=True)
    # int64 (B,): the key of each row's random numbers, in a training that needs them
    noise: torch.Tensor | None = field(default=None, kw_only=True)
    # whether a slot sees only itself and those before it; None for what the encoder's shape says
    causal: bool | None = field(default=None, kw_only=True)

    @classmethod
    def whole(cls, ids: torch.Tensor) -> "Rows":
        """Return rows of one segment each, without padding."""
        positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return cls(ids, torch.zeros_like(ids), positions)


@dataclass(frozen=True)
class Batch(Rows):
    """Rows with pieces to predict."""

    chosen: torch.Tensor  # int64 (B, C): columns that predict, ascending; 0 if unused
    targets: torch.Tensor  # int64 (B, C): the pieces to predict there
    weights: torch.Tensor  # float32 (B, C): 1, or 0 if unused
    # int64 (B, C), in held-out batches: the cluster of text that each target is from
    clusters: torch.Tensor | None = None
    # bool (B,), on the CPU, if rows are of two kinds: then targets and weights are (B, T) for the
    # causal ones, and ``chosen`` is of the others
    causal_rows: torch.Tensor | None = field(default=None, kw_only=True)
    # int64 (B, 3, C): ids, segments and positions that a decoder reads, which predicts the targets;
    # segments are those of the row
    decoder: torch.Tensor | None = field(default=None, kw_only=True)

    @property
    def decoded(self) -> Rows:
        """What the decoder reads, as rows."""
        assert self.decoder is not None
        return Rows(*self.decoder.unbind(1))

    @property
    def n_targets(self) -> torch.Tensor:
        """Pieces to predict, as a float32 scalar on the device, so that nothing waits for it."""
        return self.weights.sum()

    def rows(self, first: int, stop: int) -> "Batch":
        """Return rows ``first`` to ``stop - 1``, as views."""
        return self._take(slice(first, stop))

    def kinds(self) -> list["Batch"]:
        """Return the batch, or that of rows that see both sides and that of causal rows."""
        if self.causal_rows is None:
            return [self]
        parts = []
        for causal in (False, True):
            numbers = (self.causal_rows == causal).nonzero()[:, 0]
            if not len(numbers):
                continue
            part = self._take(numbers)
            width = part.targets.shape[1] if causal else part.chosen.shape[1]
            slots = torch.arange(width, device=part.chosen.device).expand(len(numbers), -1)
            parts.append(replace(
                part, causal=causal, causal_rows=None, chosen=slots if causal else part.chosen,
                targets=part.targets[:, :width], weights=part.weights[:, :width],
            ))  # fmt: skip
        return parts

    def _take(self, rows: slice | torch.Tensor) -> "Batch":
        """Return some rows: a slice, or numbers on the CPU."""
        columns: dict[str, Any] = dict(vars(self))
        for name, column in columns.items():
            if isinstance(column, torch.Tensor):
                columns[name] = column[rows if isinstance(rows, slice) else rows.to(column.device)]
        return Batch(**columns)


class Batches:
    """The batches of a training run, as a function of seed and step.

    Every epoch takes each row once, in its own order; a batch may span two epochs. Batches are the
    same on any device and for any number of processes.
    """

    def __init__(
        self, rows: PackedRows, objective: Objective, *, batch_rows: int, seed: int
    ) -> None:
        self.capacity = objective.capacity
        self._rows = rows
        self._objective = objective
        self.batch_rows = batch_rows
        self._seed = seed
        self._epochs = range(0)
        self._order = torch.empty(0, dtype=torch.int64, device=rows.ids.device)

    def batch(self, step: int, mask_rate: float) -> Batch:
        """Make the batch of a step (from 0), in any order, without waiting for the device."""
        numbers = self._row_numbers(step)
        ids, tree = self._rows.take(numbers), self._rows.take_tree(numbers)
        made = self._objective.predict(ids, step=step, rate=mask_rate)
        return as_batch(made, tree=tree)

    def _row_numbers(self, step: int) -> torch.Tensor:
        """Return the numbers of a batch's rows, int64 (B,)."""
        n_rows, first = self._rows.n_rows, step * self.batch_rows
        stop = first + self.batch_rows
        epochs = range(first // n_rows, -(-stop // n_rows))
        if epochs.start not in self._epochs or epochs[-1] not in self._epochs:
            self._epochs, self._order = epochs, self._make_order(epochs)
        offset = self._epochs.start * n_rows
        return self._order[first - offset : stop - offset]

    def _make_order(self, epochs: range) -> torch.Tensor:
        """Shuffle the rows for some epochs by random keys, int64 (epochs * n_rows,)."""
        n_rows = self._rows.n_rows
        shape, first = (len(epochs), n_rows), epochs.start * n_rows
        keys = keyed_bits(self._seed, 0, "order", shape, self._rows.ids.device, first=first)
        return keys.argsort(dim=1, stable=True).flatten()


def fixed_batches(
    rows: PackedRows, objective: Objective, *, batch_rows: int, n_rows_limit: int
) -> Iterator[Batch]:
    """Yield held-out batches with fixed targets, by an objective for held-out text.

    Rows and targets depend only on the text, its pieces and the row length, so losses of runs that
    agree in these are comparable, for any other settings, seed or device. More than
    ``n_rows_limit`` rows are thinned out evenly; fewer are repeated under other masks, since the
    loss of a hundred pieces is too noisy. Rows that fill up the last batch have weight 0.
    """
    n_places = min(n_rows_limit, objective.max_passes * rows.n_rows)
    spread = max(n_places, rows.n_rows)
    for first in range(0, n_places, batch_rows):
        # the last batch is filled up, since another shape would be compiled again
        places = torch.arange(first, first + batch_rows, device=rows.ids.device)
        numbers = places.clamp(max=n_places - 1) * spread // n_places % rows.n_rows
        ids = rows.take(numbers)
        made = objective.predict(ids, step=0, rate=HELD_OUT_RATE, first_row=first)
        weights = made.weights * (places < n_places)[:, None].to(rows.device)
        clusters, tree = _clusters(rows, numbers, made.chosen), rows.take_tree(numbers)
        yield as_batch(made._replace(weights=weights), clusters=clusters, tree=tree)


def as_batch(
    made: Targets, *, clusters: torch.Tensor | None = None, tree: torch.Tensor | None = None
) -> Batch:
    """Return the batch of what an objective made of rows, in which special pieces still are."""
    return Batch(
        made.ids, *lay_out(made.ids), *made[1:4], clusters,
        causal_rows=made.causal_rows, decoder=made.decoder, tree=tree,
    )  # fmt: skip


def _clusters(rows: PackedRows, numbers: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor | None:
    """Return the cluster of text that each chosen column of some rows is from, int64 (B, C)."""
    # numbers: int64 (B,); chosen: int64 (B, C)
    if rows.cluster_ends is None:
        return None
    slots = numbers.to(chosen.device)[:, None] * rows.sequence_length + chosen
    ends = torch.from_numpy(rows.cluster_ends).to(chosen.device)
    found = torch.searchsorted(ends, slots, right=True)
    return found.clamp(max=len(ends) - 1)  # of the padding after the last one
