"""``firth compare``: score runs and baselines on evaluation sets."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.memory import memory_option
from firth.corpora.common.options import (
    as_command_line,
    click_options,
    split_list,
    take,
)
from firth.embed.compare.config import EXAMPLE, CompareConfig


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click_options(CompareConfig)
@click.option(
    "--add-contexts",
    is_flag=True,
    help="Add each word's context vector to its own, in runs with both.",
)
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores as CSV.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the scores with their intervals; a file ending in .svg or .png.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Save the comparison: JSON, CSV, and fingerprints of the runs and sets.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML report with all results and the runs' nearest neighbors side by side.",
)
@click.option(
    "--words",
    metavar="WORD,...",
    help="With --report, the words of its maps and neighbors; by default some are chosen.",
)
@click.option(
    "--words-from",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --report, read them from a file: one word per line, or word TAB group for colors.",
)
@click.option(
    "--curve",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --report, the curve.json of a learning curve to include.",
)
@click.option(
    "--example",
    "examples",
    multiple=True,
    metavar="TEXT",
    help=(
        "With --report, a sentence for encoders: shows their attention and the nearest neighbors "
        f"of words in [brackets]; repeatable. By default {EXAMPLE!r}."
    ),
)
@click.option("--force", is_flag=True, help="Overwrite --plot, --report and --out.")
def command(
    runs: tuple[str, ...],
    add_contexts: bool,
    memory: str | None,
    as_json: bool,
    as_csv: bool,
    plot: Path | None,
    out: Path | None,
    report: Path | None,
    words: str | None,
    words_from: Path | None,
    curve: Path | None,
    examples: tuple[str, ...],
    force: bool,
    **options: Any,
) -> None:
    """Score runs against each other and against one-hot vectors.

    Similarity sets correlate the cosines of word pairs with human judgments,
    analogy sets measure accuracy, category sets how well word clusters match
    them, and odd-one-out sets how often the outlier is found; see the
    options for words in context, tagging, sentence classification, minimal pairs
    and association bias. Without any set: WS-353, SimLex-999 and the Google
    analogies, or only --intrinsic. RUN is a run, a vectors file, or a Hugging
    Face folder.

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
        firth compare out/svd out/sg --similarity pairs.tsv --categories ap.csv --json
        firth compare out/svd out/sg --report report.html --words king,queen,sea,lake
    """
    from firth.corpora.common.console import print_error, print_json
    from firth.corpora.common.errors import FirthError
    from firth.corpora.common.reporting import note
    from firth.embed.compare.api import compare
    from firth.embed.compare.datasets.categories import read_groups
    from firth.embed.compare.report.contents import read_curve
    from firth.embed.compare.report.csv_table import write_csv
    from firth.embed.compare.report.examples import check_brackets

    config = take(CompareConfig, options)
    if as_csv and (as_json or config.intrinsic):
        raise click.UsageError("--csv cannot be combined with --json or --intrinsic")
    of_report = {"--words": words, "--words-from": words_from, "--curve": curve}
    for name, given in (of_report | {"--example": examples or None}).items():
        if given is not None and report is None:
            raise click.UsageError(f"{name} requires --report")
    if memory is not None and report is not None:  # which reads its examples by encoders
        raise click.UsageError("--memory cannot be combined with --report")
    check_brackets(examples)
    asked = dict.fromkeys(split_list(words)) | dict(read_groups(words_from) if words_from else [])
    _refuse_places(runs, config, curve, plot, report, out, force)
    shown = None if curve is None else read_curve(curve)
    compared = compare(runs, config, add_contexts=add_contexts, memory=memory)
    writes: list[Callable[[], object]] = []
    if out is not None:
        writes.append(partial(compared.store, out, force=force))
    if plot is not None:
        writes.append(partial(compared.draw, plot, force=force))
    if report is not None:
        writes.append(
            partial(
                compared.write_report,
                report,
                words=asked,
                examples=examples,
                curve=shown,
                force=force,
            )
        )
    failures = [as_command_line(failure) for failure in compared.failures]
    if failures:
        compared.document["failures"] = list(failures)
    for write in writes:  # before printing, which a closed pipe may interrupt
        try:
            write()
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
    runs: tuple[str, ...],
    config: CompareConfig,
    curve: Path | None,
    plot: Path | None,
    report: Path | None,
    out: Path | None,
    force: bool,
) -> None:
    """Raise if an output cannot be written, before minutes of work."""
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.errors import SettingError
    from firth.embed.compare.datasets.files_read import files_read
    from firth.embed.compare.report.saved import check_out
    from firth.embed.compare.scoring.comparison import named_sets

    if plot is not None:
        picture_kind(plot)
    files = [file for file in (plot, report) if file is not None]
    for file in files:
        refuse_overwrite(file, force)
    sets = (each for task, named in named_sets(config) for each in files_read(task, named))
    read = [*map(Path, runs), *sets, *([] if curve is None else [curve])]
    for number, file in enumerate(files):
        if file.resolve() in {each.resolve() for each in (*read, *files[:number])}:
            raise SettingError(f"{file}: also an input or another output; choose another file")
    if out is not None:
        check_out(out, [*read, *files], force=force)
