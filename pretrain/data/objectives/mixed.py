"""Masked and causal rows for one set of weights (Charpentier and Samuel 2024, arXiv:2410.24159).

In rows of both kinds a slot predicts the piece in the slot after it. Causal rows see what is before
it; masked rows also what is behind, with that piece hidden.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.causal import NextPiece
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.data.objectives.targets import Targets
from firth.pretrain.data.stateless_random import as_uniform, keyed_bits


@dataclass(frozen=True)
class MixedRows:
    """A share of the rows is causal, in each stretch of a batch about as many.

    A masked target weighs 1 / rate, so that rows of both kinds weigh about the same.
    """

    max_passes: ClassVar[int] = MaskedPieces.max_passes
    held_out_targets: ClassVar[int] = MaskedPieces.held_out_targets
    per_character: ClassVar[bool] = False
    masked: MaskedPieces
    causal: NextPiece
    causal_share: float

    @property
    def capacity(self) -> int:
        """C on average."""
        share = self.causal_share
        return round(share * self.causal.capacity + (1 - share) * self.masked.capacity)

    @classmethod
    def for_training(cls, config: MlmConfig, continues: Tensor, length: int) -> Self:
        """Return what the settings describe."""
        return cls(
            MaskedPieces.for_training(config, continues, length),
            NextPiece.for_training(config, continues, length),
            config.objective_keys["causal_share"],
        )

    @classmethod
    def for_held_out(cls, continues: Tensor, length: int) -> Self:
        """Return masks as of masked pieces; the causal objective measures the other kind."""
        masked = MaskedPieces.for_held_out(continues, length)
        return cls(masked, NextPiece.for_held_out(continues, length), 0.0)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Choose which rows are causal, and the pieces to predict of all."""
        masked = self.masked.predict(ids, step=step, rate=rate, first_row=first_row)
        before = (masked.chosen - 1).clamp(min=0)  # a piece comes after [CLS] at least
        if not self.causal_share:
            return masked._replace(chosen=before)
        bits = keyed_bits(self.masked.seed, step, "causal", (1,), "cpu")
        numbers = torch.arange(first_row, first_row + len(ids) + 1, dtype=torch.float64)
        causal_rows = (numbers * self.causal_share + as_uniform(bits)).floor().diff() > 0
        by_row = causal_rows.to(ids.device)[:, None]
        following = self.causal.predict(ids, step=step, rate=rate, first_row=first_row)
        unused = (0, ids.shape[1] - before.shape[1])
        return Targets(
            torch.where(by_row, ids, masked.ids),
            before,
            torch.where(by_row, following.targets, F.pad(masked.targets, unused)),
            torch.where(by_row, following.weights, F.pad(masked.weights / rate, unused)),
            causal_rows=causal_rows,
        )
