"""Estimate what the next-word network takes."""

from typing import TYPE_CHECKING

from firth.corpora.common.estimate import Estimate
from firth.embed.nplm.config import NplmConfig
from firth.embed.nplm.network import Network
from firth.embed.nplm.train import METHOD, open_text
from firth.embed.vectors.dry_run import estimate_training

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus


def estimate_nplm(corpus: "Corpus", config: NplmConfig) -> Estimate:
    """Estimate the cost of a training."""
    text = open_text(corpus, config)
    network = Network(len(text.words), config.dim, config.window, config.hidden, config.seed, "cpu")
    checkpoint = sum(array.nbytes for array in network.arrays().values())
    del network
    return estimate_training(
        METHOD, corpus, config, text.words, text.counts,
        numbers=config.dim * len(text.words), checkpoint=checkpoint,
    )  # fmt: skip
