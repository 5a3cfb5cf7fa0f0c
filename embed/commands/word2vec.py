"""What train-skipgram and train-cbow share: refusals before any work, and the last line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from corpora.settings import click_options, take


def training_options(config_class: type) -> Callable[[Any], Any]:
    """Make a decorator that adds what a training command takes: CORPUS, --out, options, --force.

    Parameters
    ----------
    config_class : type
        Whose fields become options.

    Returns
    -------
    callable
        Decorates a function of ``corpus``, ``out``, ``force`` and the options.
    """
    out_type = click.Path(path_type=Path)
    decorators = [
        click.argument("corpus"),
        click.option("--out", required=True, type=out_type, help="The run to make."),
        click_options(config_class),
        click.option("--force", is_flag=True, help="Replace a run that stands at --out."),
    ]

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):  # click lists what is added last first
            function = decorator(function)
        return function

    return decorate


def train(
    config_class: Any,
    train_function: Callable[..., Path],
    corpus: str,
    out: Path,
    force: bool,
    options: Mapping[str, Any],
) -> None:
    """Refuse what cannot be trained, open or build the corpus, train, and tell what was made.

    Parameters
    ----------
    config_class : type
        SkipGramConfig or CbowConfig.
    train_function : callable
        ``(corpus, config, out, *, force) -> Path``.
    corpus : str
        As the person gave it.
    out : Path
        The run to make.
    force : bool
        Replace a run that stands there.
    options : mapping
        What the command was given.

    Raises
    ------
    FirthError
        An option, the corpus or the output is refused, or the training diverged.
    """
    from corpora.artifacts import refuse_existing
    from corpora.corpus import is_corpus
    from corpora.opening import open_or_build
    from embed.word2vec import open_init

    config = take(config_class, options)
    refuse_existing(out, force)
    if not is_corpus(Path(corpus)):  # building it may take long; else training refuses at once
        open_init(config)
    run = train_function(open_or_build(corpus), config, out, force=force)
    click.echo(summary(run))


def summary(run: Path) -> str:
    """Say what a run holds and how its training ended.

    Parameters
    ----------
    run : Path
        A finished run.

    Returns
    -------
    str
        ``RUN: N words, D dimensions``, and the losses of the last epoch where
        ``metrics.jsonl`` has them.
    """
    from embed.vectors import WordVectors

    vectors = WordVectors.open(run)
    parts = [f"{len(vectors.vocabulary):,} words", f"{vectors.matrix.shape[1]} dimensions"]
    last = _last_epoch(run)
    for name, label in (("epoch_loss", "loss"), ("held_out_loss", "held-out loss")):
        if last.get(name) is not None:
            parts.append(f"{label} {last[name]:.4f}")
    return f"{run}: {', '.join(parts)}"


def _last_epoch(run: Path) -> dict[str, Any]:
    """What the last epoch came to; empty where nothing was measured, as by gensim."""
    metrics = run / "metrics.jsonl"
    if not metrics.is_file():
        return {}
    lines = map(json.loads, metrics.read_text(encoding="utf-8").splitlines())
    ends: list[dict[str, Any]] = [line for line in lines if "epoch_loss" in line]
    return ends[-1] if ends else {}
