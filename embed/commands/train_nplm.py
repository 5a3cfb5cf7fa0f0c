"""``firth train-nplm``: train the next-word network of Bengio et al. (2003)."""

import math
from pathlib import Path
from typing import Any

import click

from corpora.artifacts.seeds import SeedRuns
from corpora.common.estimate import print_dry_run, require_out
from embed.commands.word2vec import cost_of_more, last_epoch, summary, training_options
from embed.nplm.config import NplmConfig


@click.command("train-nplm")
@training_options(NplmConfig)
def command(
    corpus: str,
    out: Path | None,
    seeds: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
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
    from corpora.build.open_or_build import open_or_build
    from corpora.common.device import choose_device
    from corpora.common.options import take
    from corpora.common.reporting import note
    from embed.nplm.dry_run import estimate_nplm
    from embed.nplm.train import CHECKPOINTS, make_nplm_run, open_text, with_samples
    from embed.vectors.training import warn_of_little_text

    require_out(out, dry_run, as_json)
    config = take(NplmConfig, options)
    if out is not None:
        runs = SeedRuns(
            command="train-nplm",
            config=config,
            out=out,
            seeds=seeds,
            force=force,
            resume=CHECKPOINTS,
        )
        runs.finished()  # before building the corpus, which may take long
    choose_device(config.device)
    opened = open_or_build(corpus)
    if dry_run:
        print_dry_run(lambda: estimate_nplm(opened, config).of_runs(seeds), as_json=as_json)
        return
    chosen = with_samples(config, open_text(opened, config)).samples
    finished = runs.finished(opened.fingerprint, {"samples": chosen})
    for run, run_config in runs.configs().items():
        if run in finished:
            click.echo(runs.kept_message(run))
        else:
            made = make_nplm_run(opened, run_config, run, force=force)
            click.echo(summary(made) + _perplexity(made))
            if cost := cost_of_more(made):
                note(cost)
    warn_of_little_text(opened)
    if seeds is not None:
        click.echo(runs.hint())


def _perplexity(run: Path) -> str:
    """Return the perplexity of the held-out text; empty if nothing is held out."""
    loss = last_epoch(run).get("held_out_loss")
    return "" if loss is None else f", perplexity {math.exp(loss):.1f}"
