"""Settings of the change of words."""

from dataclasses import dataclass

from corpora.common.errors import SettingError
from corpora.common.options import check, describe_settings, setting
from embed.contextual.pooling import AUTO
from embed.svd.train import SvdConfig

ROUTES = ("svd-joint", "procrustes", "contextual")
PERMUTATIONS = 200
RESAMPLES = 200


@describe_settings
@dataclass(frozen=True, kw_only=True)
class ChangeConfig:
    """How the change of words is measured; co-occurrences are counted as by ``train_svd``."""

    route: str = setting(
        "svd-joint",
        "svd-joint has one space for all periods, and a p for each word; procrustes trains a "
        "space for each period and aligns them, without p; contextual compares the states of an "
        "encoder where the words occur, without p.",
        choices=ROUTES,
    )
    dim: int = setting(100, "Width of the word vectors.", at_least=1)
    window: int = setting(7, "Farthest context word, in tokens each side.", at_least=1, at_most=100)
    min_count: int = setting(
        10, "Compare words with at least this many tokens in every period.", at_least=1
    )
    max_vocabulary: int = setting(
        50_000, "Make vectors of at most this many words, the most frequent.", at_least=1
    )
    permutations: int | None = setting(
        None,
        "svd-joint: how often documents are dealt out to the periods to measure chance, by "
        f"default {PERMUTATIONS}; 0 for no p.",
        at_least=0,
    )
    resamples: int | None = setting(
        None,
        "How often documents are drawn with replacement, for intervals of the distances: "
        f"contextual, by default {RESAMPLES}; procrustes, with a training for each period, by "
        "default never.",
        at_least=2,
    )
    encoder: str | None = setting(
        None,
        "contextual: a run of train-mlm, or a Hugging Face folder.",
        metavar="RUN",
    )
    layers: str = setting(
        AUTO,
        "contextual: layers of the encoder to average, for example 0,1; by default the upper half.",
        metavar="LAYERS",
    )
    occurrences: int = setting(
        100, "contextual: read at most this many of each word in each period.", at_least=1
    )
    seed: int = setting(1, "Seed of permutations, resamples and the SVD's start.", at_least=0)
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)

    def __post_init__(self) -> None:
        check(self)
        if self.route == "svd-joint" and self.resamples is not None:
            raise SettingError(
                "`resamples` is not of `route=svd-joint`, which has a p by `permutations`"
            )
        if self.route != "svd-joint" and self.permutations is not None:
            raise SettingError(
                f"`permutations` is of `route=svd-joint`; {self.route} has intervals by `resamples`"
            )
        if (self.route == "contextual") != (self.encoder is not None):
            raise SettingError("`route=contextual` needs an `encoder`, and no other route does")

    @property
    def svd(self) -> SvdConfig:
        """The settings of counting and factoring."""
        return SvdConfig(dim=self.dim, window=self.window, seed=self.seed, threads=self.threads)
