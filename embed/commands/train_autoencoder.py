"""``firth train-autoencoder``: train an auto-encoder of co-occurrence rows."""

import dataclasses
from pathlib import Path

import click

from firth.corpora.common.command import Command
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.commands.training import TrainingRequest, resamples_option, size, training_options


@click.command("train-autoencoder", cls=Command)
@training_options("train-autoencoder", AutoencoderConfig, resamples_option)
def command(request: TrainingRequest[AutoencoderConfig]) -> None:
    """Train an auto-encoder of co-occurrence rows; its codes are vectors.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. The network reconstructs each word's row of positive PMI or log
    counts from a few numbers, which are the word's vector. `unexplained` is the share
    of the squares of all rows that it does not reconstruct.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-autoencoder out/wiki --dry-run
        firth train-autoencoder out/wiki --out out/autoencoder
        firth train-autoencoder out/wiki --out out/vae --kind variational:2
        firth neighbors out/autoencoder king
    """
    from firth.embed.autoencoder.train import estimate_autoencoder, make_autoencoder_run

    config = request.config
    corpus = request.open_corpus(config.device)
    if request.dry_run:
        request.print_plan(estimate_autoencoder(corpus, config))
        return
    for run, seeded in request.unfinished(corpus, **dataclasses.asdict(config.resolved())):
        make_autoencoder_run(corpus, seeded, run, force=request.force)
        click.echo(f"{size(run)}, {_reconstruction(run)}")


def _reconstruction(run: Path) -> str:
    """Return what the network does not reconstruct, and the KL divergence if it is variational."""
    from firth.corpora.artifacts.metrics import METRICS, read_metrics

    last = read_metrics(run / METRICS)[-1]
    text = f"unexplained {last['unexplained']:.4f}"
    return f"{text}, KL {last['divergence']:.2f} nats per word" if "divergence" in last else text
