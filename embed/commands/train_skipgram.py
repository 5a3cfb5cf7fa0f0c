"""``firth train-skipgram``: train skip-gram vectors with negative sampling."""

from pathlib import Path
from typing import Any

import click

from embed.commands.word2vec import train, training_options
from embed.word2vec.config import SkipGramConfig


@click.command("train-skipgram")
@training_options(SkipGramConfig)
def command(
    corpus: str,
    out: Path | None,
    seeds: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
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
    from corpora.common.options import take

    config = take(SkipGramConfig, options)
    train(config, corpus, out, seeds=seeds, force=force, dry_run=dry_run, as_json=as_json)
