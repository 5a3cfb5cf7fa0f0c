"""Estimate what an auto-encoder takes."""

from typing import TYPE_CHECKING

from firth.corpora.common.estimate import Estimate
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import checkpoint_bytes
from firth.embed.autoencoder.train import METHOD, open_words
from firth.embed.vectors.dry_run import estimate_training

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus


def estimate_autoencoder(corpus: "Corpus", config: AutoencoderConfig) -> Estimate:
    """Estimate the cost of a training."""
    view = open_words(corpus, config)
    return estimate_training(
        METHOD, corpus, config, view.words, view.counts, numbers=config.dim * len(view.words),
        checkpoint=checkpoint_bytes(config.resolved(), len(view.words)),
    )  # fmt: skip
