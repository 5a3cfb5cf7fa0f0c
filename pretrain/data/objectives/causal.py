"""Each piece predicted from those before it in its segment (Bengio et al. 2003; GPT)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import CLS, CONTINUATION, FIRST_PIECE, PAD, SEP
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.targets import Targets


@dataclass(frozen=True)
class NextPiece:
    """Each slot predicts the piece in the slot after it; unknown words are not predicted.

    With ``ends``, [SEP] is predicted where the next segment follows it, so that a model learns
    where texts end; not at the end of a row, where a text may only have been cut.
    """

    max_passes: ClassVar[int] = 1  # another would be the same
    # mostly all of the held-out text, as a part would be another one for other pieces
    held_out_targets: ClassVar[int] = 1_000_000
    per_character: ClassVar[bool] = True
    capacity: int
    ends: bool

    @classmethod
    def for_training(cls, config: MlmConfig, continues: Tensor, length: int) -> Self:
        """Return the objective with ends."""
        return cls(length, ends=True)

    @classmethod
    def for_held_out(cls, continues: Tensor, length: int) -> Self:
        """Return the objective without ends, whose number depends on how a text was cut."""
        return cls(length, ends=False)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Return for each slot the piece after it; ids stay as they are."""
        following = F.pad(ids[:, 1:], (0, 1), value=PAD)
        wanted = following >= FIRST_PIECE
        if self.ends:
            after = F.pad(ids[:, 2:], (0, 2), value=PAD)
            wanted |= (following == SEP) & (after == CLS)
        slots = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return Targets(ids, slots, following, wanted.to(torch.float32))


def piece_characters(names: Sequence[str]) -> np.ndarray:
    """Return the characters of text that each piece stands for, with one space before each word.

    They sum to the same number for every vocabulary, so that bits per character are comparable.
    """
    # returns int64 (V,); 0 for special pieces
    lengths = [
        len(name.removeprefix(CONTINUATION)) + (not name.startswith(CONTINUATION)) for name in names
    ]
    lengths[:FIRST_PIECE] = [0] * FIRST_PIECE
    return np.array(lengths, dtype=np.int64)
