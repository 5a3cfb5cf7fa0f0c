"""What the commands that train word vectors have in common: arguments, runs by seed, summaries."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from firth.corpora.common.command import MACHINE, OUTPUT, option
from firth.corpora.common.estimate import Estimate, dry_run_options, print_estimate, require_out
from firth.corpora.common.options import click_options, take
from firth.embed.runs.seeds import KEPT, SeedRuns

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.text.segment import TextSettings

ConfigT = TypeVar("ConfigT")
_SIZES = 16  # bytes of a word beside its draws

_seeds_option = option(
    "--seeds",
    group=MACHINE,
    rare=True,
    type=click.IntRange(min=1, max=1_000),
    metavar="N",
    help="Train N runs that differ only in the seed, from --seed on: OUT-seed1 to OUT-seedN.",
)
# of a method that can only be trained again
resamples_option = option(
    "--resamples",
    group=MACHINE,
    rare=True,
    type=click.IntRange(min=20, max=1_000),
    metavar="N",
    help="Train N more times, such as 20, on random halves of the documents, for intervals "
    "of neighbors. A run that is trained is kept.",
)


@dataclass(frozen=True, kw_only=True)
class TrainingRequest(Generic[ConfigT]):
    """The arguments of a training command."""

    command: str  # such as ``train-svd``
    config: ConfigT
    corpus: str
    out: Path | None
    seeds: int | None
    force: bool
    dry_run: bool
    as_json: bool
    cluster: str | None = None
    resamples: int | None = None

    def open_corpus(self, device: str = "cpu", words: "TextSettings | None" = None) -> "Corpus":
        """Open or build the corpus, after a check that the runs can be made on the device."""
        from firth.corpora.common.device import choose_device
        from firth.corpora.encoding.build import open_or_build

        if self.out is not None:
            self.runs.finished()
        choose_device(device)
        return open_or_build(self.corpus, words)

    def print_plan(self, estimate: Estimate) -> None:
        """Print the cost of all runs."""
        if self.resamples:
            sizes = estimate.sizes
            estimate = replace(
                estimate,
                seconds=(1 + self.resamples) * estimate.seconds,
                disk=estimate.disk + (self.resamples * sizes["dim"] + _SIZES) * sizes["words"],
                sizes={**sizes, "resamples": self.resamples},
            )
        print_estimate(estimate.of_runs(self.seeds), as_json=self.as_json)

    def unfinished(self, corpus: "Corpus", **chosen: Any) -> Iterator[tuple[Path, ConfigT]]:
        """Yield the runs to train and their configs; at the end print how to compare them.

        Runs that are trained already, with these settings or the values ``chosen`` for them, stay.
        """
        from firth.embed.runs.writer import settings_for
        from firth.embed.vectors.training import warn_of_little_text
        from firth.embed.vectors.word_vectors import WordVectors

        if self.resamples:
            from firth.embed.resampling.drawn_text import text_of_units
            from firth.embed.resampling.trained_draws import train_draws

            text_of_units(corpus)  # raises before a run is trained
        runs = self.runs
        chosen["min_count"] = settings_for(self.config, corpus)["min_count"]
        finished = runs.finished(corpus.fingerprint, chosen)
        for run, config in runs.configs().items():
            if run in finished:
                click.echo(f"{run}: {KEPT}")
            else:
                yield run, config
            if self.resamples:
                draws = train_draws(run, corpus, config, self.resamples)
                click.echo(f"{run}: {draws.n_draws} draws of half the {draws.unit}s, for intervals")
        warn_of_little_text(corpus, WordVectors.open(run))
        if self.seeds is not None:
            click.echo(runs.hint())

    @property
    def runs(self) -> SeedRuns[ConfigT]:
        """The runs to make."""
        assert self.out is not None
        return SeedRuns(
            command=self.command, config=self.config, out=self.out, seeds=self.seeds,
            force=self.force, resumes=self.resamples is not None,
        )  # fmt: skip


def training_options(
    command: str, config_class: type, *others: Callable[[Any], Any], skip: Sequence[str] = ()
) -> Callable[[Callable[[TrainingRequest[Any]], None]], Any]:
    """Return a decorator that adds the arguments of a training command, and makes its request.

    Settings to ``skip`` are no options.
    """
    out_type = click.Path(path_type=Path)
    decorators = [
        click.argument("corpus"),
        option("--out", type=out_type, help="The run to make.", group=OUTPUT),
        click_options(config_class, skip=skip),
        _seeds_option,
        *others,
        option("--force", is_flag=True, help="Overwrite the run at --out.", group=OUTPUT),
        dry_run_options,
    ]

    def decorate(function: Callable[[TrainingRequest[Any]], None]) -> Any:
        @functools.wraps(function)
        def run(**options: Any) -> None:
            frame = {
                name: options[name] for name in TrainingRequest.__annotations__ if name in options
            }
            require_out(frame["out"], frame["dry_run"])
            function(TrainingRequest(command=command, config=take(config_class, options), **frame))

        for decorator in reversed(decorators):  # click lists the last added first
            run = decorator(run)
        return run

    return decorate


def size(run: Path) -> str:
    """Return the size of a run's vectors."""
    from firth.embed.vectors.word_vectors import WordVectors
    from firth.embed.vectors.wordlist import noun_of

    vectors = WordVectors.open(run)
    return f"{run}: {len(vectors):,} {noun_of(vectors)}s, {vectors.dim} dimensions"


def print_losses(run: Path, more: str = "") -> None:
    """Print the size and final losses of a run, and what twice the epochs would take."""
    from firth.corpora.artifacts.metrics import HeldOutLoss
    from firth.corpora.common.console import duration
    from firth.corpora.common.reporting import note

    parts, last = [size(run)], last_epoch(run)
    if last.get("epoch_loss") is not None:
        parts.append(f"loss {last['epoch_loss']:.4f}")
    if last.get("held_out_loss") is not None:
        held_out = HeldOutLoss.from_line(last)
        parts.append(f"held-out loss {held_out}{held_out.warning}")
    click.echo(", ".join(parts) + more)
    if last.get("tokens_per_second"):
        seconds, epochs = last["tokens"] / last["tokens_per_second"], last["epoch"]
        took = "1 epoch" if epochs == 1 else f"{epochs} epochs"
        note(
            f"{run}: {took} took {duration(seconds)}; `epochs={2 * epochs}` would take about "
            f"{duration(2 * seconds)}"
        )


def last_epoch(run: Path) -> dict[str, Any]:
    """Return the metrics of the last epoch; empty if there are none, as with gensim."""
    from firth.corpora.artifacts.metrics import METRICS, read_metrics

    ends = [line for line in read_metrics(run / METRICS) if "epoch_loss" in line]
    return ends[-1] if ends else {}
