"""What train-skipgram and train-cbow share: refusals before any work, and the last line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpora.artifacts.seeds import Runs, seeds_option
from corpora.common.options import click_options

if TYPE_CHECKING:
    from corpora.store.corpus import Corpus


def training_options(config_class: type) -> Callable[[Any], Any]:
    """Make a decorator that adds what a training command takes: CORPUS, options, --seeds and so on.

    Parameters
    ----------
    config_class : type
        Whose fields become options.

    Returns
    -------
    callable
        Decorates a function of ``corpus``, ``out``, ``seeds``, ``force`` and the options.
    """
    out_type = click.Path(path_type=Path)
    decorators = [
        click.argument("corpus"),
        click.option("--out", required=True, type=out_type, help="The run to make."),
        click_options(config_class),
        seeds_option,
        click.option("--force", is_flag=True, help="Replace a run that stands at --out."),
    ]

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):  # click lists what is added last first
            function = decorator(function)
        return function

    return decorate


def train(runs: Runs[Any], train_function: Callable[..., Path], corpus: str) -> None:
    """Refuse what cannot be trained, open or build the corpus, train, and tell what was made.

    Parameters
    ----------
    runs : Runs of SkipGramConfig or CbowConfig
        What to make.
    train_function : callable
        ``(corpus, config, out, *, force) -> Path``.
    corpus : str
        As the person gave it.

    Raises
    ------
    FirthError
        An option, the corpus or the output is refused, or the training diverged.
    """
    from corpora.build.open_or_build import open_or_build
    from corpora.store.corpus import is_corpus
    from embed.word2vec.train import open_init

    runs.finished()
    if not is_corpus(Path(corpus)):  # building it may take long; else training refuses at once
        open_init(runs.config)
    opened = open_or_build(corpus)
    finished = runs.finished(opened.fingerprint, _chosen(runs, opened))
    for run, config in runs.configs().items():
        if run in finished:
            click.echo(runs.told_kept(run))
        else:
            click.echo(summary(train_function(opened, config, run, force=runs.force)))
    if runs.seeds is not None:
        click.echo(runs.hint())


def _chosen(runs: Runs[Any], corpus: "Corpus") -> dict[str, Any]:
    """By name, what several trainings make of options; none of it matters to one."""
    from embed.word2vec.start import init_fingerprint, open_text, settled_epochs
    from embed.word2vec.train import open_init

    if runs.seeds is None:
        return {}
    init = open_init(runs.config)
    n_tokens = open_text(corpus, runs.config, init).n_tokens
    return {
        "epochs": settled_epochs(runs.config, n_tokens),
        "init": None if init is None else init_fingerprint(init),
    }


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
    from embed.vectors.word_vectors import WordVectors

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
