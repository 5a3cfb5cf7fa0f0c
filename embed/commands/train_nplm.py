"""``firth train-nplm``: train the next-word network of Bengio et al. (2003)."""

import math

import click

from firth.corpora.common.command import Command
from firth.embed.commands.training import (
    TrainingRequest,
    last_epoch,
    print_losses,
    resamples_option,
    training_options,
)
from firth.embed.nplm.config import NplmConfig, with_samples


@click.command("train-nplm", cls=Command)
@training_options("train-nplm", NplmConfig, resamples_option)
def command(request: TrainingRequest[NplmConfig]) -> None:
    """Train a network that predicts the next word; its first layer is vectors.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. The vectors of the words before enter a hidden layer, and a
    softmax over the vocabulary predicts the word (Bengio et al. 2003). If
    interrupted, run the same command to resume.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-nplm out/wiki --dry-run
        firth train-nplm out/wiki --out out/nplm
        firth neighbors out/nplm king
    """
    from firth.embed.nplm.train import estimate_nplm, make_nplm_run, open_text

    config = request.config
    corpus = request.open_corpus(config.device)
    if request.dry_run:
        request.print_plan(estimate_nplm(corpus, config))
        return
    samples = with_samples(config, len(open_text(corpus, config).words)).samples
    for run, seeded in request.unfinished(corpus, samples=samples):
        make_nplm_run(corpus, seeded, run, force=request.force)
        loss = last_epoch(run).get("held_out_loss")
        print_losses(run, "" if loss is None else f", perplexity {math.exp(loss):.1f}")
