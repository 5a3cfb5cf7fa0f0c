"""Shared parts of the commands train-skipgram and train-cbow, and options of other trainings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from corpora.artifacts.seeds import SeedRuns, seeds_option
from corpora.common.estimate import (
    dry_run_options,
    print_dry_run,
    require_out,
)
from corpora.common.options import click_options
from embed.word2vec.config import Word2VecConfig


def training_options(config_class: type) -> Callable[[Any], Any]:
    """Return a decorator that adds the arguments and options of a training command."""
    out_type = click.Path(path_type=Path)
    decorators = [
        click.argument("corpus"),
        click.option("--out", type=out_type, help="The run to make."),
        click_options(config_class),
        seeds_option,
        click.option("--force", is_flag=True, help="Overwrite the run at --out."),
        dry_run_options,
    ]

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):  # click lists the last added first
            function = decorator(function)
        return function

    return decorate


def train(
    config: Word2VecConfig,
    corpus: str,
    out: Path | None,
    *,
    seeds: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Check the outputs, open or build the corpus, train, print a summary and the cost of more."""
    from corpora.build.open_or_build import open_or_build
    from corpora.common.reporting import note
    from corpora.store.corpus import is_corpus
    from embed.vectors.training import warn_of_little_text
    from embed.word2vec.dry_run import estimate_word2vec
    from embed.word2vec.initial import open_init
    from embed.word2vec.loop import CHECKPOINTS
    from embed.word2vec.train import make_run
    from embed.word2vec.trainer import build_trainer

    require_out(out, dry_run, as_json)
    command = f"train-{config.method}"
    if out is not None:
        runs = SeedRuns(
            command=command, config=config, out=out, seeds=seeds, force=force, resume=CHECKPOINTS
        )
        runs.finished()
    if not is_corpus(Path(corpus)):  # check the initial vectors before building, which may be slow
        open_init(config)
    trainer = build_trainer(open_or_build(corpus), config)
    if dry_run:
        print_dry_run(lambda: estimate_word2vec(trainer).of_runs(seeds), as_json=as_json)
        return
    finished = runs.finished(trainer.corpus.fingerprint, trainer.resolved_options())
    for run, one in runs.configs().items():
        if run in finished:
            click.echo(runs.kept_message(run))
        else:
            click.echo(summary(make_run(trainer.with_seed(one.seed), run, force=force)))
            if cost := cost_of_more(run):
                note(cost)
    warn_of_little_text(trainer.corpus)
    if seeds is not None:
        click.echo(runs.hint())


def summary(run: Path) -> str:
    """Return the size of a run's vectors and its final losses."""
    from corpora.artifacts.metrics import HeldOutLoss
    from embed.vectors.word_vectors import WordVectors

    vectors = WordVectors.open(run)
    parts = [f"{len(vectors.vocabulary):,} words", f"{vectors.matrix.shape[1]} dimensions"]
    last = last_epoch(run)
    if last.get("epoch_loss") is not None:
        parts.append(f"loss {last['epoch_loss']:.4f}")
    if last.get("held_out_loss") is not None:
        held_out = HeldOutLoss.from_line(last)
        parts.append(f"held-out loss {held_out}{held_out.warning}")
    return f"{run}: {', '.join(parts)}"


def cost_of_more(run: Path) -> str | None:
    """Return what twice the epochs would take at the speed of this training, if it was measured."""
    from corpora.common.console import duration

    last = last_epoch(run)
    if not last.get("tokens_per_second"):
        return None
    seconds, epochs = last["tokens"] / last["tokens_per_second"], last["epoch"]
    took = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    return (
        f"{run}: {took} took {duration(seconds)}; `epochs={2 * epochs}` would take about "
        f"{duration(2 * seconds)}"
    )


def last_epoch(run: Path) -> dict[str, Any]:
    """Return the metrics of the last epoch; empty if there are none, as with gensim."""
    from corpora.artifacts.metrics import METRICS, read_metrics

    ends = [line for line in read_metrics(run / METRICS) if "epoch_loss" in line]
    return ends[-1] if ends else {}
