"""The objectives by the names of the setting ``objective``."""

from pretrain.config import OBJECTIVES
from pretrain.data.objectives.causal import NextPiece
from pretrain.data.objectives.masked import MaskedPieces
from pretrain.data.objectives.targets import Objective

_CLASSES: tuple[type[Objective], ...] = (MaskedPieces, NextPiece)
CLASSES = dict(zip(OBJECTIVES, _CLASSES, strict=True))
