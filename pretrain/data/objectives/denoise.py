"""Hidden spans that a decoder predicts, or the whole of a text that was changed in other ways, too.

Spans: T5 (Raffel et al. 2020, arXiv:1910.10683, section 3.1.4). Each is one sentinel in the row,
and the decoder predicts the sentinels' pieces, one span after the other. With sentences in another
order or deleted pieces: BART (Lewis et al. 2020, arXiv:1910.13461, section 2.2). A span is one
[MASK], and the decoder predicts the text. Whole batches, without waiting for the device.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, SEP, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.masked import (
    RATE_BITS,
    RandomRows,
    capacity,
    fixed_point,
    in_order,
    last_marked,
    on_grid,
)
from firth.pretrain.data.objectives.spans import Corruption, predicting, run_starts
from firth.pretrain.data.objectives.targets import Targets
from firth.pretrain.data.packing import lay_out
from firth.pretrain.objectives import rebuilds_text

_HELD_OUT = {"share": 0.15, "span": 3.0}  # of every run
_HELD_OUT_SEED = 0
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "।", "؟")
_ORDER_BITS = 24  # of a sort key, for a sentence of a segment


@dataclass(frozen=True)
class Denoising:
    """Spans are hidden, and perhaps pieces deleted and sentences permuted; a decoder predicts."""

    max_passes: ClassVar[int] = 16
    held_out_targets: ClassVar[int] = 16_000  # about two of three are pieces
    per_character: ClassVar[bool] = False
    keys: Mapping[str, Any]
    length: int  # T
    ends: Tensor  # bool (V,): pieces that end a sentence
    seed: int
    pieces_only: bool = False  # whether the loss is of hidden pieces alone

    @classmethod
    def for_training(
        cls, config: MlmConfig, continues: Tensor, length: int, *, pieces: Pieces
    ) -> Self:
        """Return what the keys describe."""
        return cls(config.objective_keys, length, _ends(pieces, continues), config.seed)

    @classmethod
    def for_held_out(
        cls, continues: Tensor, length: int, *, pieces: Pieces, keys: Mapping[str, Any]
    ) -> Self:
        """Return spans of 3 pieces on average, 15 %, of which the pieces are evaluated."""
        return cls({**keys, **_HELD_OUT}, length, _ends(pieces, continues), _HELD_OUT_SEED, True)

    @property
    def corruption(self) -> Corruption:
        """How rows are corrupted, with room for half as many spans again as are usual."""
        hidden = capacity(self.length, self.keys["share"])
        slots = hidden + min(hidden, int(1.5 * hidden / self.keys["span"]) + 2)
        whole = rebuilds_text(self.keys)
        return Corruption(len(self.ends), whole, self.length if whole else slots)

    @property
    def capacity(self) -> int:
        """C, the decoder's slots."""
        return self.corruption.capacity

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Corrupt rows; those a few at a time, with ``first_row``, as all at once."""
        random = RandomRows(self.seed, step, first_row, len(ids), ids.device)
        hidden, deleted = self._hidden(ids, random), None
        if delete := self.keys["delete"]:
            drawn = random.uniform("delete", ids.shape[1]) < on_grid(delete)
            deleted = drawn & (ids >= FIRST_PIECE) & ~hidden
        made = self.corruption.apply(
            ids, hidden, run_starts(hidden), deleted, self._order(ids, random)
        )
        if not self.pieces_only:
            return made
        predicted = hidden.gather(1, made.chosen) & (made.targets >= FIRST_PIECE)
        predicted &= made.targets < len(self.ends)
        return predicting(made, predicted)

    def _hidden(self, ids: Tensor, random: RandomRows) -> Tensor:
        """Hide a share of the pieces of each row, rounded at random, bool (B, T).

        Runs of geometric length are drawn in random order; those that touch are one span, so they
        are shorter than spans by the share that is not hidden. The last is cut.
        """
        T, share = ids.shape[1], self.keys["share"]
        maskable = ids >= FIRST_PIECE
        exact = maskable.sum(1, keepdim=True) * fixed_point(share)
        wanted = (exact + random.integers("count", 1, 1 << RATE_BITS)) >> RATE_BITS
        length = max(1.0, self.keys["span"] * (1 - share))
        begins = random.uniform("span", T) < on_grid(1 / length)
        runs = last_marked(begins | run_starts(maskable))
        order = in_order(random.bits("place", T).gather(1, runs), maskable)
        drawn = torch.arange(T, device=ids.device) < wanted
        return torch.zeros_like(maskable).scatter(1, order, drawn)

    def _order(self, ids: Tensor, random: RandomRows) -> Tensor | int:
        """Return keys that put the sentences of some segments in another order, int64 (B, T)."""
        if not (permute := self.keys["permute"]):
            return 0
        T, columns = ids.shape[1], torch.arange(ids.shape[1], device=ids.device)
        segments, positions = lay_out(ids)
        opens = F.pad(self.ends[ids][:, :-1], (1, 0))
        sentences = last_marked(opens | (ids == CLS) | (positions == 1))
        place = 1 + random.integers("order", T, (1 << _ORDER_BITS) - 2).gather(1, sentences)
        place = torch.where(ids == SEP, (1 << _ORDER_BITS) - 1, torch.where(ids == CLS, 0, place))
        drawn = random.uniform("permute", T) < on_grid(permute)
        return (segments << _ORDER_BITS) + place * drawn.gather(1, columns - positions)


def _ends(pieces: Pieces, like: Tensor) -> Tensor:
    """Return which pieces end a sentence, bool (V,), on a tensor's device."""
    return torch.tensor([name in _SENTENCE_ENDS for name in pieces.names], device=like.device)
