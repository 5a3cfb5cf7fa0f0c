"""``firth train-autoencoder``: train an auto-encoder of co-occurrence rows."""

import dataclasses
from pathlib import Path
from typing import Any

import click

from corpora.artifacts.seeds import SeedRuns
from corpora.common.estimate import print_dry_run, require_out
from embed.autoencoder.config import AutoencoderConfig
from embed.commands.train_svd import summary
from embed.commands.word2vec import training_options


@click.command("train-autoencoder")
@training_options(AutoencoderConfig)
def command(
    corpus: str,
    out: Path | None,
    seeds: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
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
        firth train-autoencoder out/wiki --out out/vae --kind variational --beta 2
        firth neighbors out/autoencoder king
    """
    from corpora.build.open_or_build import open_or_build
    from corpora.common.device import choose_device
    from corpora.common.options import take
    from embed.autoencoder.dry_run import estimate_autoencoder
    from embed.autoencoder.train import make_autoencoder_run
    from embed.vectors.training import warn_of_little_text

    require_out(out, dry_run, as_json)
    config = take(AutoencoderConfig, options)
    if out is not None:
        runs = SeedRuns(
            command="train-autoencoder", config=config, out=out, seeds=seeds, force=force
        )
        runs.finished()  # before building the corpus, which may take long
    choose_device(config.device)
    opened = open_or_build(corpus)
    if dry_run:
        print_dry_run(lambda: estimate_autoencoder(opened, config).of_runs(seeds), as_json=as_json)
        return
    finished = runs.finished(opened.fingerprint, dataclasses.asdict(config.resolved()))
    for run, run_config in runs.configs().items():
        if run in finished:
            click.echo(runs.kept_message(run))
        else:
            made = make_autoencoder_run(opened, run_config, run, force=force)
            click.echo(f"{summary(made)}, {_reconstruction(made)}")
    warn_of_little_text(opened)
    if seeds is not None:
        click.echo(runs.hint())


def _reconstruction(run: Path) -> str:
    """Return what the network does not reconstruct, and the KL divergence if it is variational."""
    from corpora.artifacts.metrics import METRICS, read_metrics

    last = read_metrics(run / METRICS)[-1]
    text = f"unexplained {last['unexplained']:.4f}"
    return f"{text}, KL {last['divergence']:.2f} nats per word" if "divergence" in last else text
