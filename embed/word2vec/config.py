"""Options of skip-gram and CBOW."""

import importlib.util
import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.options import (
    ALL,
    check,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
)
from firth.embed.registry import MIN_COUNT_HELP, Chosen

_MAX_WINDOW = 1000
_WINDOW_HELP = (
    "Farthest context word, in tokens each side; all for sets of items without order, which are "
    "shuffled in each pass, with windows of 10."
)
_RATE_HELP = "Initial learning rate; falls linearly with the tokens trained on, to 0.0001."
_FINAL_RATE = 1e-4  # as in word2vec.c and gensim
_GENSIM_SEED_LIMIT = 2**32
_SUBSAMPLE = 1e-4
_FEWEST_EPOCHS, _MOST_EPOCHS = 5, 20
_MOST_EPOCHS_TOKENS = 4_000_000  # texts up to this size are read most often


class Ngrams(NamedTuple):
    """Settings of an n-gram table; tables are compatible if these are equal."""

    shortest: int  # in characters
    longest: int  # in characters
    n_buckets: int  # size of the hash table


@dataclass(frozen=True, kw_only=True)
class _Word2VecConfig:
    """Options common to skip-gram and CBOW."""

    method: ClassVar[str]
    chosen: ClassVar[Chosen] = Chosen(
        sets=("MTurk-287", "RG-65", "MSR analogies", "AP"),
        settings=(
            "window", "window_weighting", "negatives", "subsample", "unigram_exponent",
            "learning_rate",
        ),
        date="2026-11-22",
    )  # fmt: skip
    # besides method, text and vocabulary; losses of runs that differ in them are not comparable
    loss_settings: ClassVar[tuple[str, ...]] = (
        "window", "window_weighting", "negatives", "unigram_exponent", "subsample", "boundary",
    )  # fmt: skip
    dim: int = setting(
        100, "Width of the word vectors.", at_least=1, at_most=100_000, heading="Vectors"
    )
    window: int = setting(5, _WINDOW_HELP, at_least=1, at_most=_MAX_WINDOW, or_all=True)
    window_weighting: str = rare_setting(
        "dynamic",
        "Size of each window: dynamic draws it from 1 to `window`, flat always uses `window`.",
        choices=("dynamic", "flat"),
    )
    negatives: int = setting(5, "Negative samples per window.", at_least=1, at_most=1000)
    unigram_exponent: float = rare_setting(
        0.75,
        "Draw negative samples with probability proportional to frequency to this power; 0 is "
        "uniform, below 0 prefers rare words.",
        at_least=-10,
        at_most=10,
    )
    subsample: float | None = rare_setting(
        None,
        "Drop frequent words at random: keep each occurrence with probability "
        "sqrt(t / f) + t / f, with f the word's share of the tokens; 0 for off. By default 0.0001, "
        "but 0 with `segmenter=tokens`.",
        at_least=0,
        metavar="T",
    )
    learning_rate: float = setting(0.025, _RATE_HELP, above=0, heading="Training")
    epochs: int | None = setting(
        None,
        "Passes over the text; by default 20 up to 4 million tokens, 10 for 16, 5 from 64 on.",
        at_least=1,
    )
    min_count: int | None = setting(None, MIN_COUNT_HELP, at_least=1, heading="Text")
    max_vocabulary: int | None = rare_setting(
        None, "Keep at most this many words; all by default.", at_least=1
    )
    boundary: str = rare_setting(
        "paragraph",
        "Unit of text that windows stay within.",
        choices=("sentence", "paragraph", "document"),
    )
    punctuation: str = rare_setting(
        "drop", "Whether punctuation marks count as words.", choices=("drop", "keep")
    )
    subwords: str | None = setting(
        None,
        "Compose words from their character n-grams of these lengths, such as 3-6; this also "
        "gives vectors to unseen words.",
        metavar="MIN-MAX",
        heading="Vectors",
    )
    buckets: int = rare_setting(
        2_000_000,
        "Size of the n-gram hash table; only buckets in use take memory.",
        at_least=1,
        at_most=2**31 - 1,
    )
    init: str | None = rare_setting(
        None,
        "Start from these vectors, a run or a file; their words join the vocabulary.",
        metavar="RUN",
        heading="Training",
    )
    engine: str = rare_setting(
        "firth", "Training loop to use: Firth's or gensim's.", choices=("firth", "gensim")
    )
    deterministic: bool = rare_setting(
        False, "Give the same bytes at any number of threads; somewhat slower."
    )
    seed: int = setting(1, "Seed of all random numbers.", at_least=0, heading="Seeds and machine")
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)
    memory: str | None = rare_setting(
        None,
        "Most memory to take, such as 1G or 4G; a training that takes more is refused before it "
        "starts. All of the machine's memory by default.",
        metavar="SIZE",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_memory(self.memory)
        if self.window == ALL:
            object.__setattr__(self, "window_weighting", "flat")
        if self.ngrams is None:  # raises if subwords is malformed
            refuse_unused(self, ("buckets",), "there are no n-grams without `subwords`")
        if self.engine == "gensim":
            self._check_gensim()

    @property
    def final_rate(self) -> float:
        """Lowest learning rate."""
        return min(_FINAL_RATE, self.learning_rate)

    @property
    def ngrams(self) -> Ngrams | None:
        """Settings of the n-grams; None without subwords."""
        if self.subwords is None:
            return None
        from firth.embed.vectors.subwords import parse_subwords  # here, because it imports numpy

        return Ngrams(*parse_subwords(self.subwords), self.buckets)

    def _not_in_gensim(self) -> dict[str, bool]:
        """Return the options that gensim lacks, and whether they are given."""
        return {
            "`subwords`": self.subwords is not None,
            "`init`": self.init is not None,
            "`window=all`": self.window == ALL,
            "`deterministic=True`": self.deterministic,
        }

    def _check_gensim(self) -> None:
        """Raise if gensim is not installed or does not support an option."""
        refused = [option for option, is_given in self._not_in_gensim().items() if is_given]
        if refused:
            them = "it" if len(refused) == 1 else "them"
            raise SettingError(
                f"`engine=gensim` does not support {' and '.join(refused)}; "
                f"leave {them} out or pass `engine=firth`"
            )
        if self.seed >= _GENSIM_SEED_LIMIT:
            raise SettingError(
                f"`engine=gensim` needs a seed below {_GENSIM_SEED_LIMIT}, got {self.seed}; pass a "
                "smaller `seed`"
            )
        if importlib.util.find_spec("gensim") is None:
            raise SettingError(
                "`engine=gensim` needs gensim; pip install gensim, or pass `engine=firth`"
            )


@describe_settings
@dataclass(frozen=True, kw_only=True)
class SkipGramConfig(_Word2VecConfig):
    """Skip-gram with negative sampling (Mikolov et al. 2013, arXiv:1310.4546).

    The words of a window share their negative samples (Ji et al. 2016, arXiv:1604.04661).
    """

    method = "skipgram"


@describe_settings
@dataclass(frozen=True, kw_only=True)
class CbowConfig(_Word2VecConfig):
    """CBOW with negative sampling (Mikolov et al. 2013, arXiv:1301.3781).

    CBOW trains on one pair per window, skip-gram on several; so its default learning rate is
    higher and its default window wider.
    """

    method = "cbow"
    window: int = setting(10, _WINDOW_HELP, at_least=1, at_most=_MAX_WINDOW, or_all=True)
    learning_rate: float = setting(0.05, _RATE_HELP, above=0)
    combine: str = rare_setting(
        "mean",
        "What a word is predicted from: the mean of the context vectors, each of which gets the "
        "update of the mean, as in word2vec.c and gensim; their sum; or corrected, the mean with "
        "its gradient, the update divided by their number (Irsoy et al. 2021), which needs a "
        "higher `learning_rate`.",
        choices=("mean", "sum", "corrected"),
        heading="Vectors",
    )

    def _not_in_gensim(self) -> dict[str, bool]:
        corrected = {"`combine=corrected`": self.combine == "corrected"}
        return {**super()._not_in_gensim(), **corrected}


Word2VecConfig = SkipGramConfig | CbowConfig


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Sizes and intervals that are not options; tests use smaller ones."""

    chunk_tokens: int = 20_000  # approximate tokens per chunk; random numbers depend on it
    batch_chunks: int = 32  # fewest chunks per batch in the fast mode
    # Most words per chunk and round of the deterministic mode. Updates of a round are based on the
    # tables at its start, so long rounds train worse: on Wikipedia 32,000 words in total diverge.
    round_words: int = 96
    # Most expected occurrences of the commonest word per chunk and round: more than about 8 in a
    # round of all chunks train worse.
    max_expected_count: float = 0.75
    held_out_tokens: int = 200_000  # most held-out tokens to measure the loss on
    metrics_seconds: float = 2.0  # between lines of ``metrics.jsonl``
    checkpoint_seconds: float = 60.0  # between checkpoints


TUNING = Tuning()


def default_subsample(of_tokens: bool) -> float:
    """Return the threshold; items, nodes and atoms have no function words, and are often few."""
    return 0.0 if of_tokens else _SUBSAMPLE


def default_epochs(n_tokens: int) -> int:
    """Return the passes over a text by its size: half as many for four times the tokens."""
    wanted = _MOST_EPOCHS * math.sqrt(_MOST_EPOCHS_TOKENS / max(n_tokens, 1))
    return round(min(max(wanted, _FEWEST_EPOCHS), _MOST_EPOCHS))
