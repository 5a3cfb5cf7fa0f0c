"""``firth train-skipgram``: train skip-gram vectors with negative sampling."""

import click

from firth.corpora.common.command import Command
from firth.embed.commands.training import TrainingRequest, resamples_option, training_options
from firth.embed.commands.word2vec import train
from firth.embed.word2vec.config import SkipGramConfig


@click.command("train-skipgram", cls=Command)
@training_options("train-skipgram", SkipGramConfig, resamples_option)
def command(request: TrainingRequest[SkipGramConfig]) -> None:
    """Train skip-gram vectors with negative sampling.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. If interrupted, run the same command to resume.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-skipgram out/wiki --dry-run
        firth train-skipgram out/wiki --out out/skipgram
        firth neighbors out/skipgram king
        firth train-skipgram out/wiki --out out/subwords --subwords 3-6
    """
    train(request)
