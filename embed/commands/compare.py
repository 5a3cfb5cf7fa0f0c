"""``firth compare``: score runs and baselines on evaluation sets."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, Command, option
from firth.corpora.common.options import as_command_line, click_options, take
from firth.embed.commands.sets import set_options, taken_sets
from firth.embed.compare.config import EXAMPLE, PYTHON_ONLY, CompareConfig


@click.command(name="compare", cls=Command)
@click.argument("arguments", nargs=-1, required=True, metavar="RUN... [FILE...]")
@set_options
@click_options(CompareConfig, skip=PYTHON_ONLY)
@option(
    "--add-contexts",
    group="Sets and scores",
    rare=True,
    is_flag=True,
    help="Add each word's context vector to its own, in runs with both.",
)
@option("--json", "as_json", group=OUTPUT, is_flag=True, help="Print JSON.")
@option(
    "--csv", "as_csv", group=OUTPUT, is_flag=True, help="Print the scores as CSV.",
    excludes=["--json", "--intrinsic"],
)  # fmt: skip
@option(
    "--plot",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the scores with their intervals; a file ending in .svg or .png.",
)
@option(
    "--out",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Save the comparison: JSON, CSV, and fingerprints of the runs and sets.",
)
@option(
    "--report",
    group=OUTPUT,
    excludes=["--pooling"],
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML report with all results and the runs' nearest neighbors side by side.",
)
@option(
    "--words",
    needs="--report",
    group=OUTPUT,
    rare=True,
    metavar="WORD,...",
    help="With --report, the words of its maps and neighbors. By default some are chosen.",
)
@option(
    "--words-from",
    "file",
    needs="--report",
    excludes=["--words"],
    group=OUTPUT,
    rare=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read them from a file: one per line, word TAB group, or a set of categories.",
)
@option(
    "--example",
    "examples",
    needs="--report",
    group=OUTPUT,
    rare=True,
    multiple=True,
    metavar="TEXT",
    help=(
        "With --report, a sentence for encoders: shows their attention and the nearest neighbors "
        f"of words in [brackets]; repeatable. By default {EXAMPLE!r}."
    ),
)
@option("--force", group=OUTPUT, is_flag=True, help="Overwrite --plot, --report and --out.")
def command(
    arguments: tuple[str, ...],
    add_contexts: bool,
    as_json: bool,
    as_csv: bool,
    plot: Path | None,
    out: Path | None,
    report: Path | None,
    words: str | None,
    file: Path | None,
    examples: tuple[str, ...],
    force: bool,
    **options: Any,
) -> None:
    """Score runs against each other and against one-hot vectors.

    RUN is a run, a vectors file, or a Hugging Face folder; RUN:causal reads a run of
    train-mlm --objective mixed from left to right. FILE is an evaluation
    set, whose kind is recognized from its content, or named, as by --change FILE.
    Several files of one set are joined by commas. Without any set: WS-353,
    SimLex-999 and the Google analogies, or only --intrinsic.

    All runs are scored on the items that all of them cover, with a 95 % interval
    (bootstrap over items), and also on all the items that each covers itself.
    Pairs of runs are tested on the same items, and runs without a significant
    difference from the best are marked. Runs that differ only in the seed share a
    row with the mean over seeds and its standard deviation. Comparable held-out losses
    of the runs are shown, too, with the errors of their differences.

    \b
    Example:
        firth compare out/svd out/svd-flat
        firth compare out/svd out/sg-seed* --plot scores.svg --out out/comparison
        firth compare out/svd out/sg pairs.tsv ap.csv --json
        firth compare out/svd out/mlm train.conllu,test.conllu --change words.tsv
        firth compare out/svd out/sg --report report.html --words king,queen,sea,lake
    """
    from firth.corpora.common.console import print_error, print_json
    from firth.corpora.common.errors import FirthError
    from firth.corpora.common.options import split_list
    from firth.corpora.common.reporting import note
    from firth.embed.compare.api import compare
    from firth.embed.compare.datasets.categories import read_groups
    from firth.embed.compare.report.examples import check_brackets
    from firth.embed.compare.report.saved import write_csv
    from firth.embed.compare.scoring.sets import split_arguments

    runs, sets = split_arguments(arguments)
    config = take(CompareConfig, options | {"sets": taken_sets(sets, options)})
    check_brackets(examples)
    asked = dict(read_groups(file)) if file else dict.fromkeys(split_list(words))
    _refuse_places(runs, config, plot, report, out, force)
    compared = compare(runs, config, add_contexts=add_contexts)
    write_report = partial(compared.write_report, words=asked, examples=examples)
    writes = ((out, compared.store), (plot, compared.draw), (report, write_report))
    failures = [as_command_line(failure) for failure in compared.failures]
    if failures:
        compared.document["failures"] = list(failures)
    for path, write in writes:  # before printing, which a closed pipe may interrupt
        try:
            if path is not None:
                write(path, force=force)
        except FirthError as error:
            failures.append(as_command_line(str(error)))
    if as_json:
        print_json(compared.document)
    elif as_csv:
        write_csv(compared.document["results"], sys.stdout)
    else:
        compared.print_tables()
    for failure in failures:
        print_error(failure)
    if failures:
        sys.exit(1)
    if report is not None:
        note(f"{report}: open it in a browser")


def _refuse_places(
    runs: Sequence[str],
    config: CompareConfig,
    plot: Path | None,
    report: Path | None,
    out: Path | None,
    force: bool,
) -> None:
    """Raise if an output cannot be written, before minutes of work."""
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.errors import SettingError
    from firth.embed.compare.report.saved import check_out
    from firth.embed.compare.scoring.sets import named_sets
    from firth.embed.compare.task import task_class

    if plot is not None:
        picture_kind(plot)
    files = [file for file in (plot, report) if file is not None]
    for file in files:
        refuse_overwrite(file, force)
    sets = (f for kind, named in named_sets(config, []) for f in task_class(kind).files(named))
    read = [*map(Path, runs), *sets]
    for number, file in enumerate(files):
        if file.resolve() in {each.resolve() for each in (*read, *files[:number])}:
            raise SettingError(f"{file}: also an input or another output; choose another file")
    if out is not None:
        check_out(out, [*read, *files], force=force)
