"""Options of the auto-encoders."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.device import DEVICES
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.registry import Chosen
from firth.embed.svd.train import SvdConfig

LINEAR, HIDDEN, DENOISING, VARIATIONAL = KINDS = ("linear", "hidden", "denoising", "variational")
_WEIGHTINGS = {"ppmi": "ppmi", "log": "log-counts"}  # rows to the weighting of train-svd
_COUNTING = (
    "window", "window_weighting", "subsample", "context_smoothing", "min_count", "max_vocabulary",
    "boundary", "punctuation", "threads", "memory",
)  # fmt: skip
# Options of some kinds only: the kinds, and the default there.
_OF_KINDS: dict[str, tuple[tuple[str, ...], float]] = {
    "hidden": ((HIDDEN, DENOISING, VARIATIONAL), 100),
    "noise": ((DENOISING,), 0.3),
    "beta": ((VARIATIONAL,), 1.0),
}


def _counting_setting(name: str) -> Any:
    """Declare an option of counting as train-svd does."""
    field = SvdConfig.__dataclass_fields__[name]
    return dataclasses.field(default=field.default, metadata=field.metadata)


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
        "Network: linear (the same as an SVD), one hidden layer on each side of the vector, the "
        "same with noise in its input, or variational.",
        choices=KINDS,
        heading="Network",
    )
    rows: str = rare_setting(
        "ppmi",
        "What of a word is reconstructed: its positive PMI or log(1 + count) with every context.",
        choices=tuple(_WEIGHTINGS),
    )
    dim: int = setting(100, "Width of the word vectors.", at_least=1, at_most=10_000)
    hidden: int | None = rare_setting(
        None, "Width of each hidden layer; by default 100. Not with `kind=linear`.",
        at_least=1, at_most=10_000,
    )  # fmt: skip
    noise: float | None = rare_setting(
        None, "Share of a row that is set to 0 in the input; by default 0.3. Only with "
        "`kind=denoising`.", above=0, below=1,
    )  # fmt: skip
    beta: float | None = rare_setting(
        None, "Weight of the KL divergence; by default 1. Only with `kind=variational`.",
        at_least=0,
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
    window: int = _counting_setting("window")
    window_weighting: str = _counting_setting("window_weighting")
    subsample: float = _counting_setting("subsample")
    context_smoothing: float = _counting_setting("context_smoothing")
    min_count: int = _counting_setting("min_count")
    max_vocabulary: int = _counting_setting("max_vocabulary")
    boundary: str = _counting_setting("boundary")
    punctuation: str = _counting_setting("punctuation")
    seed: int = setting(1, "Seed of all random numbers.", at_least=0, heading="Seeds and machine")
    device: str = rare_setting(
        "auto", "Where the network runs; auto is cuda if available, else cpu.", choices=DEVICES
    )
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
        for name, (kinds, _) in _OF_KINDS.items():
            if getattr(self, name) is not None and self.kind not in kinds:
                raise SettingError(
                    f"`{name}` needs `kind={kinds[0]}`, got `kind={self.kind}`; leave it out"
                )
        smoothing = SvdConfig.context_smoothing
        if self.rows != "ppmi" and self.context_smoothing != smoothing:
            raise SettingError(
                f"`context_smoothing={self.context_smoothing:g}`: only changes PMI, and "
                f"`rows={self.rows}` has none; leave it out"
            )

    def resolved(self) -> "AutoencoderConfig":
        """Return the config with the defaults of its kind."""
        chosen = {
            name: default
            for name, (kinds, default) in _OF_KINDS.items()
            if getattr(self, name) is None and self.kind in kinds
        }
        return dataclasses.replace(self, **chosen)  # type: ignore[arg-type]

    def counting(self) -> SvdConfig:
        """Return the settings by which the rows are counted and weighted."""
        shared = {name: getattr(self, name) for name in _COUNTING}
        return SvdConfig(dim=self.dim, weighting=_WEIGHTINGS[self.rows], **shared)
