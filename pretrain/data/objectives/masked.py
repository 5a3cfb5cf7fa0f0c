"""Masked pieces, predicted from both sides (Devlin et al. 2019, arXiv:1810.04805)."""

from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor

from firth.pretrain.config import MlmConfig
from firth.pretrain.data.masking import Masking, capacity, mask
from firth.pretrain.data.objectives.targets import HELD_OUT_RATE, Targets

_HELD_OUT_SEED = 0


@dataclass(frozen=True)
class MaskedPieces:
    """Some pieces are hidden and predicted."""

    max_passes: ClassVar[int] = 16  # by then every piece was masked about twice
    held_out_targets: ClassVar[int] = 8_000  # enough to estimate the loss within 0.03
    per_character: ClassVar[bool] = False
    masking: Masking
    continues: Tensor  # bool (V,)
    capacity: int
    seed: int

    @classmethod
    def for_training(cls, config: MlmConfig, continues: Tensor, length: int) -> Self:
        """Return what the settings describe."""
        masking = Masking(config.masking)
        return cls(masking, continues, capacity(length, config.mean_mask_rate), config.seed)

    @classmethod
    def for_held_out(cls, continues: Tensor, length: int) -> Self:
        """Return masks of single pieces, 15 %, shown 80/10/10."""
        return cls(Masking(), continues, capacity(length, HELD_OUT_RATE), _HELD_OUT_SEED)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Mask a share of the pieces, in held-out text always the same."""
        return mask(
            ids,
            self.continues,
            self.masking,
            rate=rate,
            seed=self.seed,
            step=step,
            first_row=first_row,
        )
