"""``firth pool``: pool an encoder's states into one vector per word."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, device_option, option
from firth.corpora.common.options import click_options
from firth.embed.contextual.pooling import PoolConfig


@click.command("pool", cls=Command)
@click.argument("run", type=PATH)
@option("--out", required=True, type=PATH, help="The run to make.", group=OUTPUT)
@click_options(PoolConfig)
@option(
    "--corpus",
    metavar="CORPUS",
    help="Corpus that provides words and sentences; by default the one RUN was trained on.",
)
@device_option
@option("--force", is_flag=True, help="Overwrite the run at --out.", group=OUTPUT)
def command(
    run: Path,
    out: Path,
    corpus: str | None,
    device: str,
    force: bool,
    **options: Any,
) -> None:
    """Pool an encoder's states into one vector per word.

    RUN is a run of train-mlm, which already has such vectors; this makes a new
    run with vectors from other layers or more contexts. The new run refers to
    RUN and needs it for words in context. RUN can also be a Hugging Face folder,
    which requires the package transformers and --corpus.

    \b
    Example:
        firth train-mlm out/wiki --out out/mlm
        firth pool out/mlm --layers 0,1 --contexts-per-word 100 --out out/mlm-low
        firth pool models/bert --corpus out/wiki --out out/bert
        firth compare out/mlm out/mlm-low out/bert
    """
    from firth.corpora.artifacts.artifact import refuse_existing
    from firth.corpora.common.options import take
    from firth.corpora.encoding.build import open_or_build
    from firth.embed.commands.training import size
    from firth.embed.contextual.encoders import encoder_run
    from firth.embed.contextual.pooled_run import pool_run

    config = take(PoolConfig, options)
    run = encoder_run(run)
    refuse_existing(out, force)
    opened = None if corpus is None else open_or_build(corpus)
    pool_run(run, config, out, corpus=opened, device=device, force=force)
    click.echo(size(out))
