"""Settings of the change of words."""

from dataclasses import dataclass
from typing import Any

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.registry import find_method

ROUTES = ("svd-joint", "procrustes", "contextual")
SVD = "svd"
METHODS = (SVD, "skipgram", "cbow")  # those that train in minutes
PERMUTATIONS = 200
_DIM = 100
MOST_WORDS = 50_000  # that have vectors, the most frequent
FEWEST = 5  # tokens of words that are contexts and neighbors, as in train-svd


@describe_settings
@dataclass(frozen=True, kw_only=True)
class ChangeConfig:
    """How the change of words is measured; other settings of training have their defaults."""

    route: str | None = setting(
        None,
        "svd-joint has one space for all periods, and a p for each word; procrustes trains a "
        "space for each period and aligns them, without p; contextual compares the states of an "
        "encoder where the words occur, without p. The default is svd-joint, or procrustes if "
        "vectors are compared.",
        choices=ROUTES,
        heading="Measure",
    )
    method: str | None = rare_setting(
        None,
        "procrustes: how the space of each period is trained; svd by default.",
        choices=METHODS,
    )
    dim: int | None = rare_setting(
        None, f"Width of the word vectors; {_DIM} by default.", at_least=1, at_most=100_000
    )
    min_count: int = setting(
        10, "Compare words with at least this many tokens in every period.", at_least=1
    )
    permutations: int | None = rare_setting(
        None,
        "svd-joint: how often documents are dealt out to the periods to measure chance, by "
        f"default {PERMUTATIONS}; 0 for no p.",
        at_least=0,
    )
    encoder: str | None = setting(
        None,
        "contextual: a run of train-mlm, or a Hugging Face folder.",
        metavar="RUN",
    )
    occurrences: int = rare_setting(
        100, "contextual: read at most this many of each word in each period.", at_least=1
    )
    seed: int = rare_setting(
        1,
        "Seed of permutations, of drawn documents and of the SVD's start.",
        at_least=0,
        heading="Seeds and machine",
    )
    threads: int | None = rare_setting(None, "Threads; all cores by default.", at_least=1)

    def __post_init__(self) -> None:
        check(self)
        if self.route not in (None, "svd-joint") and self.permutations is not None:
            raise SettingError("`permutations` is of `route=svd-joint`; leave it out")
        if self.route != "procrustes" and self.method is not None:
            raise SettingError("`method` is of `route=procrustes`; leave it out")
        if (self.route == "contextual") != (self.encoder is not None):
            raise SettingError("`route=contextual` needs an `encoder`, and no other route does")
        if self.route == "contextual":
            refuse_training(self, "`route=contextual`, which trains nothing")

    @property
    def training(self) -> Any:
        """The settings by which a space is trained."""
        # words that are compared are to have a vector; equal seeds are to give equal vectors
        given = {} if self.trains_svd else {"deterministic": True}
        return find_method(self.method or SVD).config_class()(
            dim=self.dim or _DIM, min_count=min(FEWEST, self.min_count), seed=self.seed,
            threads=self.threads, **given,
        )  # fmt: skip

    @property
    def trains_svd(self) -> bool:
        """Whether spaces are those of an SVD."""
        return self.method in (None, SVD)


def refuse_training(settings: ChangeConfig, what: str) -> None:
    """Raise if there are settings of training, where nothing is trained."""
    for name in ("method", "dim"):
        if getattr(settings, name) is not None:
            raise SettingError(f"`{name}` has no effect on {what}; leave it out")
