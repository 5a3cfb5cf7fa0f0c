"""firth train-svd."""

from pathlib import Path
from typing import Any

import click

from corpora.settings import click_options
from embed.svd_vectors import SvdConfig


@click.command("train-svd")
@click.argument("corpus")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The run to make.")
@click_options(SvdConfig)
@click.option("--force", is_flag=True, help="Replace a run that stands at --out.")
def command(corpus: str, out: Path, force: bool, **options: Any) -> None:
    """Train count-based vectors: co-occurrence, PPMI, truncated SVD.

    CORPUS is what build-corpus made, or a source of text, which is built in a
    cache first. With the defaults a word's vector is its row of U S^(1/2), where
    U S V is the truncated SVD of the smoothed positive PMI of words and contexts.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-svd out/wiki --out out/svd
        firth neighbors out/svd king
    """
    from corpora.artifacts import refuse_existing
    from corpora.opening import open_or_build
    from corpora.settings import take
    from embed.sparse_products import choose_device
    from embed.svd_vectors import train_svd
    from embed.vectors import WordVectors

    config = take(SvdConfig, options)
    refuse_existing(out, force)  # before a raw source is built, which may take long
    choose_device(config.device)
    run = train_svd(open_or_build(corpus), config, out, force=force)
    vectors = WordVectors.open(run)
    click.echo(f"{run}: {len(vectors.vocabulary):,} words, {vectors.matrix.shape[1]} dimensions")
