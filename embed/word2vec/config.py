"""The options of skip-gram and CBOW."""

import importlib.util
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from corpora.common.errors import SettingError
from corpora.common.options import check, setting

_MOST_WINDOW = 1000
_WINDOW_HELP = "Farthest context word, in tokens each side."
_RATE_HELP = "First learning rate; falls linearly with the tokens."
_GENSIM_SEEDS = 2**32


class Ngrams(NamedTuple):
    """What makes one table of character n-grams fit another."""

    shortest: int  # length of n-grams in characters
    longest: int  # length of n-grams in characters
    n_buckets: int  # size of the hash table


@dataclass(frozen=True, kw_only=True)
class _Word2VecConfig:
    """What skip-gram and CBOW have in common."""

    method: ClassVar[str]
    dim: int = setting(100, "Width of the word vectors.", at_least=1, at_most=100_000)
    window: int = setting(5, _WINDOW_HELP, at_least=1, at_most=_MOST_WINDOW)
    window_weighting: str = setting(
        "dynamic",
        "Size of each window: dynamic draws it from 1 to `window`, flat always takes `window`.",
        choices=("dynamic", "flat"),
    )
    negatives: int = setting(5, "Negative samples of each window.", at_least=1, at_most=1000)
    unigram_exponent: float = setting(
        0.75,
        "Negative samples are drawn by frequency to this power; 0 draws all words alike, below 0 "
        "rare ones most.",
        at_least=-10,
        at_most=10,
    )
    subsample: float = setting(
        1e-4,
        "Frequent words are dropped at random: each occurrence is kept with probability "
        "sqrt(t / f) + t / f, f being the word's share of the tokens; 0 for off.",
        at_least=0,
        metavar="T",
    )
    learning_rate: float = setting(0.025, _RATE_HELP, above=0)
    final_rate: float = setting(1e-4, "The learning rate falls no lower.", at_least=0)
    epochs: int | None = setting(
        None,
        "Times through the text; 5 by default, 20 where it has fewer than 4 million tokens.",
        at_least=1,
    )
    min_count: int = setting(5, "Words with fewer tokens are dropped.", at_least=1)
    max_vocabulary: int | None = setting(
        None, "Keep at most this many words; all by default.", at_least=1
    )
    boundary: str = setting(
        "paragraph", "What no window crosses.", choices=("sentence", "paragraph", "document")
    )
    punctuation: str = setting(
        "drop", "Whether punctuation marks count as words.", choices=("drop", "keep")
    )
    subwords: str | None = setting(
        None,
        "Compose words of their character n-grams of these lengths, such as 3-6, which gives "
        "unseen words vectors.",
        metavar="MIN-MAX",
    )
    buckets: int = setting(
        2_000_000,
        "Size of the hash table of n-grams; only buckets that occur take memory.",
        at_least=1,
        at_most=2**31 - 1,
    )
    init: str | None = setting(
        None,
        "Start from these vectors, a run or a file, whose words join the vocabulary.",
        metavar="RUN",
    )
    engine: str = setting(
        "firth", "Whose training loop: ours, or gensim's.", choices=("firth", "gensim")
    )
    hierarchical_softmax: bool = setting(
        False, "Hierarchical softmax in the place of negative samples; `engine=gensim`."
    )
    deterministic: bool = setting(
        False, "The same bytes at any number of threads, somewhat slower."
    )
    seed: int = setting(1, "Of all random numbers.", at_least=0)
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)

    def __post_init__(self) -> None:
        check(self)
        owner = type(self).__name__
        if self.final_rate > self.learning_rate:
            raise SettingError(
                f"{owner}.final_rate must be at most the learning rate {self.learning_rate:g}, "
                f"got {self.final_rate:g}"
            )
        _ = self.ngrams  # refuses what are no lengths
        if self.hierarchical_softmax and self.engine != "gensim":
            raise SettingError("`hierarchical_softmax=True` needs `engine=gensim`")
        if self.engine == "gensim":
            self._refuse_for_gensim()

    @property
    def ngrams(self) -> Ngrams | None:
        """The n-grams that words are composed of, if they are."""
        if self.subwords is None:
            return None
        from embed.vectors.subwords import parse_subwords  # numpy comes with it

        return Ngrams(*parse_subwords(self.subwords), self.buckets)

    def _refuse_for_gensim(self) -> None:
        """Raise if gensim is not installed or cannot do what is asked for."""
        given = {
            "`subwords`": self.subwords is not None,
            "`init`": self.init is not None,
            "`deterministic=True`": self.deterministic,
        }
        refused = [option for option, is_given in given.items() if is_given]
        if refused:
            them = "it" if len(refused) == 1 else "them"
            raise SettingError(
                f"`engine=gensim` does not go with {' and '.join(refused)}; "
                f"leave {them} out or pass `engine=firth`"
            )
        if importlib.util.find_spec("gensim") is None:
            raise SettingError(
                "`engine=gensim` needs gensim; pip install gensim, or pass `engine=firth`"
            )
        if self.seed >= _GENSIM_SEEDS:
            raise SettingError(
                f"`engine=gensim` takes seeds below {_GENSIM_SEEDS}, got {self.seed}; pass a "
                "smaller `seed`"
            )


@dataclass(frozen=True, kw_only=True)
class SkipGramConfig(_Word2VecConfig):
    """Skip-gram with negative sampling (Mikolov et al. 2013, arXiv:1310.4546).

    The words of a window share their negative samples (Ji et al. 2016, arXiv:1604.04661).
    """

    method = "skipgram"


@dataclass(frozen=True, kw_only=True)
class CbowConfig(_Word2VecConfig):
    """CBOW with negative sampling (Mikolov et al. 2013, arXiv:1301.3781).

    It learns one pair from a window where skip-gram learns several, and wants a higher rate and
    a wider window.
    """

    method = "cbow"
    window: int = setting(10, _WINDOW_HELP, at_least=1, at_most=_MOST_WINDOW)
    learning_rate: float = setting(0.05, _RATE_HELP, above=0)
    sum: bool = setting(
        False, "Predict from the sum of the context vectors, or from their mean.", opposite="mean"
    )


Word2VecConfig = SkipGramConfig | CbowConfig


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Sizes and intervals that are not options; tests choose smaller ones."""

    # tokens of a chunk of the text, about. The random numbers depend on it
    chunk_tokens: int = 20_000
    # chunks that the threads of the fast mode are given at a time, at least
    batch_chunks: int = 32
    # words of a round of the deterministic mode, at most. What a round does not yet know of itself
    # grows with its length: on Wikipedia one of 32,000 words in all diverges
    round_words: int = 96
    # times that the commonest word stands in a chunk's round, on average, at most: where it stands
    # more than some 8 times in a round, training learns worse
    most_often: float = 0.75
    held_out_tokens: int = 200_000  # held-out text that is measured, at most
    metrics_seconds: float = 2.0  # between lines of ``metrics.jsonl``, between checkpoints
    checkpoint_seconds: float = 60.0  # between lines of ``metrics.jsonl``, between checkpoints


TUNING = Tuning()
