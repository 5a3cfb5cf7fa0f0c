"""``firth pool``: average an encoder's states into one vector per word."""

from pathlib import Path
from typing import Any

import click

from corpora.common.options import click_options
from embed.contextual.pooling import PoolConfig


@click.command("pool")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The run to make.")
@click_options(PoolConfig)
@click.option(
    "--corpus",
    metavar="CORPUS",
    help="The corpus whose words and sentences are read; by default the one that RUN was "
    "trained on.",
)
@click.option(
    "--device",
    type=click.Choice(("auto", "cpu", "cuda")),
    default="auto",
    show_default=True,
    help="Where the encoder runs.",
)
@click.option("--force", is_flag=True, help="Replace a run that stands at --out.")
def command(
    run: Path, out: Path, corpus: str | None, device: str, force: bool, **options: Any
) -> None:
    """Average an encoder's states into one vector per word.

    RUN is a run of train-mlm, which has such vectors already; this makes others
    of it, of other layers or of more contexts, as a run of their own. It names
    RUN, and needs it for words in context. Or RUN is a Hugging Face folder,
    which needs the package transformers and a --corpus.

    \b
    Example:
        firth train-mlm out/wiki --out out/mlm
        firth pool out/mlm --layers 0,1 --contexts-per-word 100 --out out/mlm-low
        firth pool models/bert --corpus out/wiki --out out/bert
        firth compare out/mlm out/mlm-low out/bert
    """
    from corpora.artifacts.artifact import refuse_existing
    from corpora.build.open_or_build import open_or_build
    from corpora.common.options import take
    from embed.contextual.encoders import encoder_run
    from embed.contextual.pooled_run import pool_run
    from embed.vectors.word_vectors import WordVectors

    config = take(PoolConfig, options)
    run = encoder_run(run)
    refuse_existing(out, force)
    opened = None if corpus is None else open_or_build(corpus)
    made = pool_run(run, config, out, corpus=opened, device=device, force=force)
    vectors = WordVectors.open(made)
    n_words, dim = vectors.matrix.shape
    click.echo(f"{out}: {n_words:,} words, {dim} dimensions")
