"""``firth train-svd``: train count-based vectors by a truncated SVD of PPMI."""

import click

from firth.corpora.common.cluster import cluster_option
from firth.corpora.common.command import Command
from firth.embed.commands.training import TrainingRequest, size, training_options
from firth.embed.svd.train import SvdConfig


@click.command("train-svd", cls=Command)
@training_options("train-svd", SvdConfig, cluster_option)
def command(request: TrainingRequest[SvdConfig]) -> None:
    """Train count-based vectors by a truncated SVD of PPMI.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. With the defaults a word's vector is its row of U S^(1/2), where
    U S V is the truncated SVD of the smoothed positive PMI of words and contexts.
    The seed only sets the start of the SVD and has almost no effect on the result.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-svd out/wiki --dry-run
        firth train-svd out/wiki --out out/svd
        firth neighbors out/svd king
    """
    from firth.embed.svd.dry_run import estimate_svd
    from firth.embed.svd.train import make_svd_run, with_width

    config = request.config
    corpus = request.open_corpus(config.device)
    if request.dry_run:
        request.print_plan(estimate_svd(corpus, config))
        return
    for run, seeded in request.unfinished(corpus, dim=with_width(config, corpus).dim):
        make_svd_run(corpus, seeded, run, force=request.force, cluster=request.cluster)
        click.echo(size(run))
