"""The target of each pair, which a decoder predicts from the source and the tags.

A pair is ``source ⇥ target ⇥ tags``: the target is hidden as a span is by ``denoise``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from firth.corpora.common.errors import SettingError
from firth.corpora.text.pairs import COLUMN
from firth.corpora.tokenizer.pieces import FIRST_PIECE, PAD, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.spans import Corruption, predicting, run_starts
from firth.pretrain.data.objectives.targets import Targets
from firth.pretrain.data.packing import lay_out


@dataclass(frozen=True)
class Transduction:
    """Targets are hidden and predicted, each with where it ends."""

    max_passes: ClassVar[int] = 1  # another would be the same
    held_out_targets: ClassVar[int] = 100_000
    per_character: ClassVar[bool] = False
    n_pieces: int  # V
    column: int  # the piece between columns
    capacity: int  # C, the decoder's slots: a row may be targets but for a few pieces
    pieces_only: bool = False  # whether the loss is of pieces alone, without the ends

    @classmethod
    def for_training(
        cls, config: MlmConfig, continues: Tensor, length: int, *, pieces: Pieces
    ) -> Self:
        """Return the objective with ends."""
        if COLUMN not in pieces.names:
            raise SettingError(
                f"`objective={config.objective}`: the corpus has no pairs; build one from lines of "
                "a source, a tab and a target with `pattern=pairs`"
            )
        return cls(len(pieces), pieces.names.index(COLUMN), length)

    @classmethod
    def for_held_out(
        cls, continues: Tensor, length: int, *, pieces: Pieces, keys: Mapping[str, Any]
    ) -> Self:
        """Return the objective without ends, which the unigram baseline does not predict."""
        return cls(len(pieces), pieces.names.index(COLUMN), length, pieces_only=True)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Hide the targets of all pairs that are whole."""
        hidden = hidden_targets(ids, self.column)
        made = Corruption(self.n_pieces, False, self.capacity).apply(
            ids, hidden, run_starts(hidden)
        )
        return predicting(made, made.targets >= FIRST_PIECE) if self.pieces_only else made


def hidden_targets(ids: Tensor, column: int) -> Tensor:
    """Return which slots hold targets: those between the first two marks of a segment."""
    # ids: int64 (B, T); returns bool (B, T)
    segments, positions = lay_out(ids)
    marks = (ids == column).to(torch.int64)
    in_row = marks.cumsum(1)
    columns = torch.arange(ids.shape[1], device=ids.device)
    number = in_row - in_row.gather(1, columns - positions)  # a segment starts at [CLS]
    places = segments.clamp(min=0)
    in_segment = torch.zeros_like(ids).scatter_add(1, places, marks).gather(1, places)
    return (number == 1) & (marks == 0) & (in_segment > 1) & (ids != PAD)
