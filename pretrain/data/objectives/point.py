"""Words in random order, of which a decoder points at one after the other in the text's order.

A pointer network (Vinyals et al. 2015, arXiv:1506.03134) on sentences. Words of several pieces stay
whole, and their first pieces are pointed at. Whole batches, without waiting for the device.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import CLS, PAD, SEP, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.masked import RandomRows, find_words
from firth.pretrain.data.objectives.targets import Targets
from firth.pretrain.data.packing import lay_out

_DRAW_BITS = 31
_FACTOR = 0x2545F4914F6CDD1D  # of the polynomial hash of a word's pieces; odd and large
_HELD_OUT_SEED = 0


@dataclass(frozen=True)
class ShuffledWords:
    """The words of each segment are shuffled; the decoder reads the text and points."""

    max_passes: ClassVar[int] = 16
    held_out_targets: ClassVar[int] = 16_000
    per_character: ClassVar[bool] = False
    capacity: int
    continues: Tensor  # bool (V,)
    seed: int

    @classmethod
    def for_training(
        cls, config: MlmConfig, continues: Tensor, length: int, *, pieces: Pieces
    ) -> Self:
        """Return orders by the seed of the settings."""
        return cls(length, continues, config.seed)

    @classmethod
    def for_held_out(
        cls, continues: Tensor, length: int, *, pieces: Pieces, keys: Mapping[str, Any]
    ) -> Self:
        """Return orders that are the same in every run."""
        return cls(length, continues, _HELD_OUT_SEED)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Shuffle rows; the targets are the columns of the words' first pieces after that."""
        random = RandomRows(self.seed, step, first_row, len(ids), ids.device)
        segments, positions = lay_out(ids)
        movable = (ids != CLS) & (ids != SEP) & (ids != PAD)  # also unknown words
        words = find_words(ids, self.continues, movable)
        draws = random.integers("order", ids.shape[1], 1 << _DRAW_BITS)
        hashes = _word_hashes(ids * movable, words.starts, segments)
        places = 1 + _alike_in_order(draws, hashes).gather(1, words.starts)
        places = torch.where(ids == CLS, 0, torch.where(ids == SEP, 2 << _DRAW_BITS, places))
        keys = torch.where(ids == PAD, 1 << 62, (segments << _DRAW_BITS + 2) + places)
        order = keys.argsort(dim=1, stable=True)
        columns = torch.arange(ids.shape[1], device=ids.device)
        return Targets(
            ids.gather(1, order),
            (columns + 1).clamp(max=ids.shape[1] - 1).expand_as(ids),
            F.pad(order.argsort(dim=1)[:, 1:], (0, 1)),
            F.pad(words.heads[:, 1:], (0, 1)).float(),
            torch.stack([ids, segments, positions], 1),
        )


def _word_hashes(ids: Tensor, starts: Tensor, segments: Tensor) -> Tensor:
    """Return in the first column of each word a hash of its pieces and segment, int64 (B, T)."""
    columns = torch.arange(ids.shape[1], device=ids.device)
    powers = torch.full_like(columns, _FACTOR).cumprod(0)
    of_pieces = ids * powers[(columns - starts).clamp(min=0)]
    hashes = torch.zeros_like(ids).scatter_add(1, starts, of_pieces)
    return hashes + segments * powers[-1]


def _alike_in_order(draws: Tensor, hashes: Tensor) -> Tensor:
    """Return the draws, those of equal hashes ascending, so that equal words keep their order.

    Else the target would be either of two slots that nothing tells apart.
    """
    drawn = draws.argsort(dim=1, stable=True)
    drawn = drawn.gather(1, hashes.gather(1, drawn).argsort(dim=1, stable=True))
    return draws.scatter(1, hashes.argsort(dim=1, stable=True), draws.gather(1, drawn))
