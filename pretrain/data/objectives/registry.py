"""The objectives by the names of the setting ``objective``."""

from firth.pretrain.config import OBJECTIVES
from firth.pretrain.data.objectives.causal import NextPiece
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.data.objectives.targets import Objective

_CLASSES: tuple[type[Objective], ...] = (MaskedPieces, NextPiece)
CLASSES = dict(zip(OBJECTIVES, _CLASSES, strict=True))
