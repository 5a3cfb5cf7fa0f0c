"""Options of the next-word network."""

from dataclasses import dataclass, replace

from firth.corpora.common.device import DEVICES, WHICH
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.registry import MIN_COUNT_HELP, Chosen
from firth.embed.word2vec.config import Tuning

_FULL_WORDS = 4_096  # vocabularies up to this size have a full softmax by default
_SAMPLES = 1_024


@describe_settings
@dataclass(frozen=True, kw_only=True)
class NplmConfig:
    """The next-word network: vectors of the words before, a hidden layer, a softmax.

    Bengio, Ducharme, Vincent and Jauvin 2003, "A neural probabilistic language model", JMLR 3;
    without their direct connections.
    """

    chosen = Chosen(sets=("MTurk-287",), settings=("learning_rate",), date="2026-11-23")
    # losses of the same words in the same text are comparable at any settings
    loss_settings = ()
    dim: int = setting(
        100, "Width of the word vectors.", at_least=1, at_most=10_000, heading="Vectors"
    )
    window: int = setting(
        4, "Words before a word, from which it is predicted.", at_least=1, at_most=100
    )
    hidden: int = setting(100, "Width of the hidden layer.", at_least=1, at_most=10_000)
    samples: int | None = rare_setting(
        None,
        "Words drawn per step, to which the softmax is restricted; 0 for the full softmax. By "
        f"default 0 up to {_FULL_WORDS:,} words, else {_SAMPLES:,}.",
        at_least=0,
        at_most=1_000_000,
    )
    learning_rate: float = setting(
        0.1, "First step size of Adagrad; falls linearly to 0.", above=0, heading="Training"
    )
    batch: int = rare_setting(1_024, "Words predicted per step.", at_least=1, at_most=1_000_000)
    epochs: int = setting(3, "Passes over the text.", at_least=1)
    min_count: int | None = setting(None, MIN_COUNT_HELP, at_least=1, heading="Text")
    seed: int = setting(1, "Seed of all random numbers.", at_least=0, heading="Seeds and machine")
    device: str = rare_setting("auto", f"Where the network runs; {WHICH}", choices=DEVICES)
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)

    def __post_init__(self) -> None:
        check(self)


def with_samples(config: NplmConfig, n_words: int) -> NplmConfig:
    """Return a config with the words to draw per step, for a vocabulary of this size."""
    chosen = 0 if n_words <= _FULL_WORDS else _SAMPLES
    return replace(config, samples=chosen if config.samples is None else config.samples)


TUNING = Tuning(held_out_tokens=50_000)  # each has a score for every word of the vocabulary
