"""Rows without their hidden spans, and what a decoder reads and predicts of them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK, PAD, SEP
from firth.pretrain.data.objectives.masked import last_marked
from firth.pretrain.data.objectives.targets import Targets
from firth.pretrain.data.packing import lay_out

_COLUMN_BITS = 20  # of a sort key; the others are an order
_LAST = 1 << 62


@dataclass(frozen=True)
class Corruption:
    """How rows are corrupted once it is known what of them is hidden."""

    n_pieces: int  # V: the number of the first sentinel
    whole: bool  # whether the decoder predicts the text, or the spans
    capacity: int  # C, slots of a row that the decoder reads; targets beyond are left out

    def apply(
        self,
        ids: Tensor,
        hidden: Tensor,
        starts: Tensor,
        deleted: Tensor | None = None,
        order: Tensor | int = 0,
    ) -> Targets:
        """Return rows without what is hidden, in ``order``, and targets, weighted if predicted."""
        # ids: int64 (B, T); hidden, starts, deleted: bool (B, T); order: int64 (B, T)
        segments, positions = lay_out(ids)
        marked = torch.where(starts, self._marks(starts, positions), ids)
        kept = (~hidden | starts) & (ids != PAD)
        if deleted is not None:
            kept &= ~deleted
        columns = torch.arange(ids.shape[1], device=ids.device)
        keys = torch.where(kept, columns + (order << _COLUMN_BITS), _LAST).sort(1).values
        read = marked.gather(1, (keys & ((1 << _COLUMN_BITS) - 1)).clamp(max=ids.shape[1] - 1))
        shown = torch.where(keys < _LAST, read, PAD)
        if self.whole:
            following = F.pad(ids[:, 1:], (0, 1), value=PAD)
            wanted = ((following >= FIRST_PIECE) | (following == SEP)) & (ids != SEP)
            decoder = torch.stack([ids, segments, positions], 1)
            chosen = (columns + 1).clamp(max=ids.shape[1] - 1).expand_as(ids)
            return Targets(shown, chosen, following, wanted.float(), decoder)
        return Targets(shown, *self._spans(ids, hidden, starts, marked, segments))

    def _marks(self, starts: Tensor, positions: Tensor) -> Tensor:
        """Return what stands for each span: sentinels from 0 in each segment, or [MASK]."""
        if self.whole:
            return torch.full_like(positions, MASK)
        columns = torch.arange(starts.shape[1], device=starts.device)
        number = starts.cumsum(1) - starts.to(torch.int64)
        return self.n_pieces + number - number.gather(1, columns - positions)

    def _spans(
        self, ids: Tensor, hidden: Tensor, starts: Tensor, marked: Tensor, segments: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return chosen columns, targets, weights, and the decoder's slots: sentinels and spans."""
        # a slot for the sentinel of each column, then one for its piece
        symbols = torch.stack([marked, ids], -1).flatten(1)
        used = torch.stack([starts, hidden], -1).flatten(1)
        n = used.shape[1]
        slots = torch.where(used, torch.arange(n, device=ids.device), n)
        slots = F.pad(slots.sort(1).values, (0, 1), value=n)[:, : self.capacity + 1]
        real, columns = slots < n, slots.clamp(max=n - 1) // 2
        read = torch.where(real, symbols.gather(1, slots.clamp(max=n - 1)), PAD)
        segment = torch.where(real, segments.gather(1, columns), -1)
        same = real[:, :-1] & (segment[:, 1:] == segment[:, :-1])
        targets = torch.where(same, read[:, 1:], torch.where(real[:, :-1], SEP, PAD))
        opens = F.pad(segment[:, 1:] != segment[:, :-1], (1, 0), value=True)
        place = torch.arange(segment.shape[1], device=ids.device) - last_marked(opens)
        decoder = torch.stack([read, segment, torch.where(real, place, 0)], 1)[..., :-1]
        return columns[:, 1:], targets, real[:, :-1].float(), decoder


def predicting(made: Targets, predicted: Tensor) -> Targets:
    """Return targets of which only some are predicted, bool (B, C)."""
    targets = torch.where(predicted, made.targets, PAD)
    return made._replace(weights=made.weights * predicted, targets=targets)


def run_starts(marks: Tensor) -> Tensor:
    """Return where runs of marked slots start, bool (B, T)."""
    return marks & ~F.pad(marks[:, :-1], (1, 0))
