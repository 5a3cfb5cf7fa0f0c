"""Options of the auto-encoders."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.device import DEVICES, WHICH
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.registry import Chosen
from firth.embed.svd.train import SvdConfig

LINEAR, HIDDEN, DENOISING, VARIATIONAL = KINDS = ("linear", "hidden", "denoising", "variational")
_WEIGHTINGS = {"ppmi": "ppmi", "log": "log-counts"}  # rows to the weighting of train-svd
_COUNTING = ("window", "min_count", "max_vocabulary", "threads", "memory")
_HIDDEN = 100
_STRENGTHS = {DENOISING: 0.3, VARIATIONAL: 1.0}  # of the noise, and of the KL divergence


def _counting_setting(name: str, heading: str | None = None) -> Any:
    """Declare an option of counting as train-svd does."""
    field = SvdConfig.__dataclass_fields__[name]
    metadata = {**field.metadata, "heading": heading}
    return dataclasses.field(default=field.default, metadata=metadata)


@describe_settings
@dataclass(frozen=True, kw_only=True)
class AutoencoderConfig:
    """An auto-encoder of co-occurrence rows, whose bottleneck is the word vector.

    Linear: Baldi and Hornik 1989, "Neural networks and principal component analysis". Denoising:
    Vincent et al. 2008. Variational: Kingma and Welling 2014, arXiv:1312.6114.
    """

    chosen = Chosen(sets=("MTurk-287", "AP"), settings=("learning_rate",), date="2026-11-23")
    kind: str = setting(
        HIDDEN,
        "Network: linear (the same as an SVD); hidden, one layer on each side of the vector; "
        "denoising, with a share of the input set to 0, as in denoising:0.3; or variational, with "
        "a weight of the KL divergence, as in variational:1.",
        metavar="NAME[:NUMBER]",
        heading="Network",
    )
    rows: str = rare_setting(
        "ppmi",
        "What of a word is reconstructed: its positive PMI or log(1 + count) with every context.",
        choices=tuple(_WEIGHTINGS),
    )
    dim: int = setting(100, "Width of the word vectors.", at_least=1, at_most=10_000)
    hidden: int | None = rare_setting(
        None, f"Width of each hidden layer; by default {_HIDDEN}. Not with `kind=linear`.",
        at_least=1, at_most=10_000,
    )  # fmt: skip
    learning_rate: float = setting(
        0.1,
        "First step size of Adam, relative to the initial size of each weight; falls linearly to "
        "0.",
        above=0,
        heading="Training",
    )
    batch: int = rare_setting(512, "Words per step.", at_least=1, at_most=1_000_000)
    epochs: int = setting(20, "Passes over the rows.", at_least=1)
    window: int = _counting_setting("window", "Text")
    min_count: int | None = _counting_setting("min_count")
    max_vocabulary: int = _counting_setting("max_vocabulary")
    seed: int = setting(1, "Seed of all random numbers.", at_least=0, heading="Seeds and machine")
    device: str = rare_setting("auto", f"Where the network runs; {WHICH}", choices=DEVICES)
    threads: int | None = _counting_setting("threads")
    memory: str | None = rare_setting(
        None,
        "Working memory of counting, such as 1G or 4G; counts that exceed it are on disk. Half of "
        "the machine's memory by default.",
        metavar="SIZE",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_memory(self.memory)
        name, colon, _ = self.kind.partition(":")
        number = -1.0 if self._strength is None else self._strength
        fits = {DENOISING: 0 < number < 1, VARIATIONAL: number >= 0}
        if not fits.get(name, name in KINDS and not colon):
            raise SettingError(
                f"`kind={self.kind}`: pass one of {', '.join(KINDS)}; denoising:SHARE with a share "
                "between 0 and 1, or variational:WEIGHT"
            )
        if self.hidden is not None and name == LINEAR:
            raise SettingError("`hidden`: no hidden layer with `kind=linear`; leave it out")

    @property
    def network(self) -> str:
        """The kind without its number."""
        return self.kind.partition(":")[0]

    @property
    def noise(self) -> float | None:
        """The share of the input that is set to 0."""
        return self._strength if self.network == DENOISING else None

    @property
    def beta(self) -> float | None:
        """The weight of the KL divergence."""
        return self._strength if self.network == VARIATIONAL else None

    @property
    def _strength(self) -> float | None:
        """The number of the kind; None if it is none."""
        name, colon, number = self.kind.partition(":")
        try:
            return float(number) if colon else _STRENGTHS.get(name)
        except ValueError:
            return None

    def resolved(self) -> "AutoencoderConfig":
        """Return the config with the width of the hidden layers."""
        hidden = None if self.network == LINEAR else self.hidden or _HIDDEN
        return dataclasses.replace(self, hidden=hidden)

    def counting(self) -> SvdConfig:
        """Return the settings by which the rows are counted and weighted."""
        shared = {name: getattr(self, name) for name in _COUNTING}
        return SvdConfig(dim=self.dim, weighting=_WEIGHTINGS[self.rows], **shared)
