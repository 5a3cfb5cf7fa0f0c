"""What the commands that train word vectors have in common: arguments, runs by seed, summaries."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from firth.corpora.common.command import OUTPUT, option
from firth.corpora.common.estimate import Estimate, dry_run_options, print_dry_run, require_out
from firth.corpora.common.options import click_options, take
from firth.embed.runs.seeds import SeedRuns, seeds_option

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, kw_only=True)
class Request(Generic[ConfigT]):
    """The arguments of a training command."""

    config: ConfigT
    corpus: str
    out: Path | None
    seeds: int | None
    force: bool
    dry_run: bool
    as_json: bool
    cluster: str | None = None

    def train(
        self,
        command: str,
        *,
        check: Callable[[], Any],
        estimate: Callable[[Any], Estimate],
        chosen: Callable[[Any], Mapping[str, Any]],
        make: Callable[[Any, ConfigT, Path], Any],
        describe: Callable[[Path], str],
        prepare: Callable[[Any], Any] = lambda corpus: corpus,
        resume: str | None = None,
    ) -> None:
        """Train the runs that are not finished, or print what one takes.

        ``check`` is called before a corpus is built, which may take long; ``estimate``,
        ``chosen`` and ``make`` get what ``prepare`` returns for the corpus.
        """
        from firth.corpora.common.reporting import note
        from firth.corpora.encoding.build import open_or_build
        from firth.embed.vectors.training import warn_of_little_text

        if self.out is not None:
            runs = SeedRuns(
                command=command,
                config=self.config,
                out=self.out,
                seeds=self.seeds,
                force=self.force,
                resume=resume,
            )
            runs.finished()
        check()
        corpus = open_or_build(self.corpus)
        prepared = prepare(corpus)
        if self.dry_run:
            print_dry_run(lambda: estimate(prepared).of_runs(self.seeds), as_json=self.as_json)
            return
        finished = runs.finished(corpus.fingerprint, chosen(prepared))
        for run, config in runs.configs().items():
            if run in finished:
                click.echo(runs.kept_message(run))
                continue
            make(prepared, config, run)
            click.echo(describe(run))
            if cost := cost_of_more(run):
                note(cost)
        warn_of_little_text(corpus)
        if self.seeds is not None:
            click.echo(runs.hint())


def training_options(
    config_class: type, *others: Callable[[Any], Any]
) -> Callable[[Callable[[Request[Any]], None]], Any]:
    """Return a decorator that adds the arguments of a training command, and makes its request."""
    out_type = click.Path(path_type=Path)
    decorators = [
        click.argument("corpus"),
        option("--out", type=out_type, help="The run to make.", group=OUTPUT),
        click_options(config_class),
        seeds_option,
        *others,
        option("--force", is_flag=True, help="Overwrite the run at --out.", group=OUTPUT),
        dry_run_options,
    ]

    def decorate(function: Callable[[Request[Any]], None]) -> Any:
        @functools.wraps(function)
        def command(**options: Any) -> None:
            frame = {name: options[name] for name in Request.__annotations__ if name in options}
            require_out(frame["out"], frame["dry_run"], frame["as_json"], frame.get("cluster"))
            function(Request(config=take(config_class, options), **frame))

        for decorator in reversed(decorators):  # click lists the last added first
            command = decorator(command)
        return command

    return decorate


def size(run: Path) -> str:
    """Return the size of a run's vectors."""
    from firth.embed.vectors.word_vectors import WordVectors

    vectors = WordVectors.open(run)
    return f"{run}: {len(vectors.vocabulary):,} words, {vectors.matrix.shape[1]} dimensions"


def size_and_losses(run: Path) -> str:
    """Return the size of a run's vectors and its final losses."""
    from firth.corpora.artifacts.metrics import HeldOutLoss

    parts, last = [size(run)], last_epoch(run)
    if last.get("epoch_loss") is not None:
        parts.append(f"loss {last['epoch_loss']:.4f}")
    if last.get("held_out_loss") is not None:
        held_out = HeldOutLoss.from_line(last)
        parts.append(f"held-out loss {held_out}{held_out.warning}")
    return ", ".join(parts)


def cost_of_more(run: Path) -> str | None:
    """Return what twice the epochs would take at the speed of this training, if it was measured."""
    from firth.corpora.common.console import duration

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
    from firth.corpora.artifacts.metrics import METRICS, read_metrics

    ends = [line for line in read_metrics(run / METRICS) if "epoch_loss" in line]
    return ends[-1] if ends else {}
