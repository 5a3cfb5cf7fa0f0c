"""Estimate what skip-gram and CBOW take."""

from firth.corpora.common.errors import SettingError
from firth.corpora.common.estimate import Estimate
from firth.embed.vectors.dry_run import estimate_training
from firth.embed.word2vec.tables import compose_words
from firth.embed.word2vec.trainer import Trainer


def estimate_word2vec(trainer: Trainer) -> Estimate:
    """Estimate the cost of a training.

    Raises SettingError for gensim, whose speed cannot be measured in parts.
    """
    config, text = trainer.config, trainer.text
    if config.engine == "gensim":
        raise SettingError("`engine=gensim` has no `dry_run=True`; pass `engine=firth`")
    n_words, n_buckets = len(text.words), 0
    if config.ngrams is not None:
        n_buckets = len(compose_words(text.words, config.ngrams)[2])
    trained = config.dim * (2 * n_words + n_buckets)
    # with n-grams, also the numbers of their buckets, and the vectors that are composed
    composed = config.dim * n_words + 2 * n_buckets if config.ngrams else 0
    return estimate_training(
        config.method, trainer.corpus, config, text.words, text.counts,
        numbers=trained + composed, checkpoint=4 * trained,
    )  # fmt: skip
