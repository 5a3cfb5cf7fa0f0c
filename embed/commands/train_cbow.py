"""``firth train-cbow``: train CBOW vectors with negative sampling."""

from pathlib import Path
from typing import Any

import click

from embed.commands.word2vec import train, training_options
from embed.word2vec.config import CbowConfig


@click.command("train-cbow")
@training_options(CbowConfig)
def command(
    corpus: str,
    out: Path | None,
    seeds: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
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
    from corpora.common.options import take

    config = take(CbowConfig, options)
    train(config, corpus, out, seeds=seeds, force=force, dry_run=dry_run, as_json=as_json)
