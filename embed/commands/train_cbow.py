"""``firth train-cbow``: train predictive vectors: CBOW with negative sampling."""

from pathlib import Path
from typing import Any

import click

from embed.commands.word2vec import train, training_options
from embed.word2vec.config import CbowConfig


@click.command("train-cbow")
@training_options(CbowConfig)
def command(corpus: str, out: Path, seeds: int | None, force: bool, **options: Any) -> None:
    """Train predictive vectors: CBOW with negative sampling.

    CORPUS is what build-corpus made, or a source of text, which is built in a
    cache first. Interrupted, the same command goes on where it was.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-cbow out/wiki --out out/cbow
        firth neighbors out/cbow king
    """
    from corpora.common.options import take

    train(take(CbowConfig, options), corpus, out, seeds=seeds, force=force)
