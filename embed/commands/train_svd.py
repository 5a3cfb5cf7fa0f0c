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
        firth build-corpus wiki-sample --out corpora/wiki
        firth train-svd corpora/wiki --out runs/svd
        firth neighbors runs/svd king
    """
    from corpora.opening import open_or_build
    from corpora.settings import take
    from embed.svd_vectors import train_svd

    config = take(SvdConfig, options)
    run = train_svd(open_or_build(corpus), config, out, force=force)
    click.echo(str(run))
