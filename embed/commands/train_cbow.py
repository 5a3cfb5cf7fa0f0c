"""``firth train-cbow``: train CBOW vectors with negative sampling."""

import click

from firth.corpora.common.command import Command
from firth.embed.commands.training import TrainingRequest, resamples_option, training_options
from firth.embed.commands.word2vec import train
from firth.embed.word2vec.config import CbowConfig


@click.command("train-cbow", cls=Command)
@training_options("train-cbow", CbowConfig, resamples_option)
def command(request: TrainingRequest[CbowConfig]) -> None:
    """Train CBOW vectors with negative sampling.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. If interrupted, run the same command to resume.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-cbow out/wiki --dry-run
        firth train-cbow out/wiki --out out/cbow
        firth neighbors out/cbow king
    """
    train(request)
