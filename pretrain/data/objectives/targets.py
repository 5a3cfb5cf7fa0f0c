"""What an objective makes of rows, and what every objective offers."""

from typing import ClassVar, NamedTuple, Protocol, Self

from torch import Tensor

from firth.pretrain.config import MlmConfig

HELD_OUT_RATE = 0.15  # of pieces that are masked in held-out text


class Targets(NamedTuple):
    """Rows with the pieces to predict; see :class:`firth.pretrain.data.batches.Batch`."""

    ids: Tensor  # int64 (B, T)
    chosen: Tensor  # int64 (B, C)
    targets: Tensor  # int64 (B, C)
    weights: Tensor  # float32 (B, C)
    decoder: Tensor | None = None  # int64 (B, 3, C)
    # bool (B,), on the CPU, if rows are of two kinds; see :meth:`Batch.kinds`
    causal_rows: Tensor | None = None


class Objective(Protocol):
    """Chooses the pieces to predict of packed rows, as a function of seed and step."""

    max_passes: ClassVar[int]  # over a row of a held-out text that is short
    held_out_targets: ClassVar[int]  # about as many are predicted in held-out text
    per_character: ClassVar[bool]  # whether the loss can be divided among characters

    @property
    def capacity(self) -> int:
        """C, the slots of a row in which a piece is predicted, at the mean mask rate."""

    @classmethod
    def for_training(cls, config: MlmConfig, continues: Tensor, length: int) -> Self:
        """Return the objective that the settings describe, for rows of ``length`` slots.

        ``continues``, bool (V,), marks the pieces that continue a word.
        """

    @classmethod
    def for_held_out(cls, continues: Tensor, length: int) -> Self:
        """Return the objective by which every run is evaluated, whatever its settings."""

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Choose the pieces to predict of some rows.

        Rows a few at a time, with ``first_row``, have the same targets as all at once. ``rate`` is
        the share of pieces to mask; NaN if none are.
        """
