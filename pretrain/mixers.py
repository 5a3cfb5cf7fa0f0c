"""The mixers by name: what lets the slots of a row see each other, layer by layer."""

import pkgutil
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixerKind:
    """Where a mixer is, and which settings it uses."""

    path: str  # ``module:class``, a :class:`firth.pretrain.model.mixers.base.Mixer`
    attends: bool = False  # scores, spans and weights
    heads: bool = False  # parts of the states, which rotary positions can turn
    convolves: bool = False  # the width of filters
    even: bool = False  # half of its width for each direction, unless it is causal

    @property
    def compiles(self) -> bool:
        """Whether torch.compile takes it: not if its shapes depend on the batch."""
        return not (self.even or self.convolves)

    def load(self) -> Any:
        """Import the class."""
        return pkgutil.resolve_name(self.path)


ATTENTION = "attention"
MIXERS = {
    ATTENTION: MixerKind("firth.pretrain.model.attention:SelfAttention", attends=True, heads=True),
    "lstm": MixerKind("firth.pretrain.model.mixers.recurrent:Lstm", even=True),
    "gru": MixerKind("firth.pretrain.model.mixers.recurrent:Gru", even=True),
    "elman": MixerKind("firth.pretrain.model.mixers.recurrent:Elman", even=True),
    "conv": MixerKind("firth.pretrain.model.mixers.conv:Convolution", convolves=True),
    "conformer": MixerKind(
        "firth.pretrain.model.mixers.conformer:Conformer", attends=True, heads=True, convolves=True
    ),
    "linear": MixerKind("firth.pretrain.model.mixers.linear:LinearAttention", heads=True),
    "mean": MixerKind("firth.pretrain.model.mixers.mean:Mean"),
}
