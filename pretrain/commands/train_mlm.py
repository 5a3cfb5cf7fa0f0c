"""firth train-mlm."""

from pathlib import Path
from typing import Any

import click

from corpora.settings import click_options
from pretrain.config import MlmConfig


@click.command("train-mlm")
@click.argument("corpus")
@click.option("--out", type=click.Path(path_type=Path), help="The run to make.")
@click_options(MlmConfig)
@click.option("--force", is_flag=True, help="Replace a run that stands at --out.")
@click.option(
    "--dry-run", is_flag=True, help="Tell size, memory, speed and end time; write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print what --dry-run tells as JSON.")
def command(
    corpus: str, out: Path | None, force: bool, dry_run: bool, as_json: bool, **options: Any
) -> None:
    """Train a contextual encoder: masked-language modelling, as BERT.

    CORPUS is what build-corpus made, or a source of text, which is built in a
    cache first. Interrupted, the same command goes on where it was. The run
    answers like every other: its vectors are means of each word's contextual states.
    torchrun starts it on several GPUs.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-mlm out/wiki --preset tiny --dry-run
        firth train-mlm out/wiki --preset tiny --out out/mlm
        firth neighbors out/mlm king
        torchrun --nproc-per-node 2 cli.py train-mlm out/wiki --out out/mlm2
    """
    from corpora.settings import take

    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out'.")
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run")
    config = take(MlmConfig, options)
    if dry_run:
        _tell_plan(corpus, config, as_json)
    else:
        assert out is not None
        _train(corpus, config, out, force)


def _train(corpus: str, config: MlmConfig, out: Path, force: bool) -> None:
    """Refuse what cannot be trained, open or build the corpus, train, and tell what was made."""
    from corpora.artifacts import refuse_existing
    from corpora.opening import open_or_build
    from pretrain.distributed import joined
    from pretrain.machine import choose_device
    from pretrain.train import train_mlm

    refuse_existing(out, force)  # before a raw source is built, which may take long
    with joined(config.device) as world:
        choose_device(config.device, world.local_rank)
        opened = world.first(lambda: open_or_build(corpus), lambda: open_or_build(corpus))
        run = train_mlm(opened, config, out, force=force)
        if world.is_first:
            click.echo(summary(run))


def summary(run: Path) -> str:
    """Say what a run holds, and how well it learnt.

    Parameters
    ----------
    run : Path
        A finished run.

    Returns
    -------
    str
        Words, dimensions, and the last held-out loss beside that of frequencies alone; and a line
        more where the training was too short to tell anything of the method.
    """
    from corpora.console import human
    from corpora.metrics import METRICS, read_metrics
    from embed.vectors import WordVectors

    vectors = WordVectors.open(run)
    last = [line for line in read_metrics(run / METRICS) if "held_out_loss" in line][-1]
    told = (
        f"{run}: {len(vectors.vocabulary):,} words, {vectors.matrix.shape[1]} dimensions, "
        f"held-out loss {last['held_out_loss']:.4f} (frequencies alone {last['unigram_loss']:.4f})"
        f", accuracy {last['held_out_accuracy']:.1%} ({last['unigram_accuracy']:.1%})"
    )
    if last["tokens"] < _ENOUGH_TOKENS:
        told += (
            f"\nthis only checks the plumbing: {human(last['tokens'])} tokens of training are too "
            f"few to judge the method by; {human(_ENOUGH_TOKENS)} begin to tell"
        )
    return told


_ENOUGH_TOKENS = 50_000_000  # slots trained on


def _tell_plan(corpus: str, config: MlmConfig, as_json: bool) -> None:
    """Print what a training will take."""
    from corpora.console import print_json, print_table
    from corpora.opening import open_or_build
    from pretrain.machine import choose_device
    from pretrain.plan import plan

    choose_device(config.device)  # before a raw source is built, which may take long
    planned = plan(open_or_build(corpus), config)
    if as_json:
        print_json(planned)
        return
    print_table(["", "planned"], [[name, _shown(name, value)] for name, value in planned.items()])


def _shown(name: str, value: Any) -> str:
    """A figure of the plan for eyes: what is exact in full, the rest in three figures."""
    from corpora.console import human

    if name in ("parameters", "pieces", "rows", "batch", "micro_batch", "steps", "epoch_tokens"):
        return f"{value:,}"
    if name == "seconds":
        return f"{value:,.0f} ({value / 60:.1f} minutes)"
    if name == "memory":
        return f"{human(value)}B"
    return str(value) if isinstance(value, str | bool) else human(value)
