"""``firth compare``: score runs on evaluation sets, beside vectors that know nothing."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpora.settings import click_options, take
from embed.compare.config import CompareConfig

if TYPE_CHECKING:
    from embed.compare.opening import Opened
    from embed.compare.page_parts import ReportParts
    from embed.compare.tasks import Task

_EXAMPLE = "I [saw] a man with a [saw]"
_FILES_WITH_COMMAS = ("contexts", "tagging", "sentences")  # sets of several files


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click_options(CompareConfig)
@click.option(
    "--add-contexts",
    is_flag=True,
    help="Add each word's context vector to its own, in runs with both.",
)
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
    help="Keep the comparison as a run: JSON, CSV, and the fingerprints of what was compared.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page for the browser, with all of it and the vectors' neighbours side by side.",
)
@click.option(
    "--curve",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --report, the curve.json of a learning curve to show on the page.",
)
@click.option(
    "--example",
    "examples",
    multiple=True,
    metavar="TEXT",
    help=(
        "With --report, a sentence that encoders read: their attention, and what is nearest to "
        f"words in [brackets]; repeatable. By default {_EXAMPLE!r}."
    ),
)
@click.option("--force", is_flag=True, help="Replace what stands at --plot, --report and --out.")
def command(
    runs: tuple[str, ...],
    add_contexts: bool,
    as_json: bool,
    as_csv: bool,
    plot: Path | None,
    out: Path | None,
    report: Path | None,
    curve: Path | None,
    examples: tuple[str, ...],
    force: bool,
    **options: Any,
) -> None:
    """Score runs against each other and against one-hot vectors.

    Similarity sets give correlations between the cosines of pairs and people's
    judgements, analogy sets the share of questions answered rightly, categories
    how well clusters of words agree with them, odd-one-out sets how often the
    word that does not fit is found; for words in context, labels of words and of sentences, minimal
    pairs and association bias see the options. Without a set: WS-353, SimLex-999 and the
    Google analogies, which the gensim package carries. RUN is a run, a file
    of vectors, or a folder of Hugging Face transformers.

    All runs are scored on the items that all of them know, each with a 95 %
    interval (bootstrap over items); beside that stands what each reaches on all
    that it knows itself. Every two runs are tested on the same items, and what
    cannot be told from the best is marked. Runs that differ in the seed only
    share a row: the mean over the seeds, and its deviation.

    \b
    Example:
        firth compare out/svd out/svd-flat
        firth compare out/svd out/sg-seed* --plot scores.svg --out out/comparison
        firth compare out/svd out/sg --similarity pairs.tsv --categories ap.csv --json
    """
    from corpora.console import print_json
    from corpora.errors import FirthError
    from corpora.provenance import now
    from embed.compare.comparison import readable_tasks
    from embed.compare.csv_table import write_csv
    from embed.compare.intrinsic import measure_geometry
    from embed.compare.intrinsic_report import geometry_json, print_geometry
    from embed.compare.opening import compare_opened, open_runs
    from embed.compare.page_examples import refuse_unmarked
    from embed.compare.page_parts import read_curve
    from embed.compare.report import print_report, short_names, to_json
    from embed.compare.report_page import write_report
    from embed.compare.score_picture import draw_scores
    from embed.compare.stored import store_comparison

    config = take(CompareConfig, options)
    if as_csv and (as_json or config.intrinsic):
        raise click.UsageError("--csv goes without --json and --intrinsic")
    if curve is not None and report is None:
        raise click.UsageError("--curve goes with --report")
    if examples and report is None:
        raise click.UsageError("--example goes with --report")
    refuse_unmarked(examples)
    _refuse_places(runs, config, curve, plot, report, out, force)
    shown = None if curve is None else read_curve(curve)
    tasks, failures = readable_tasks(config)
    opened, started = open_runs(runs, add_contexts=add_contexts), now()
    comparison = compare_opened(opened, tasks, config)
    failures += comparison.failures
    document = to_json(comparison, config, opened.about)
    geometry = measure_geometry(opened.vectors, config) if config.intrinsic else None
    if geometry is not None:
        document |= geometry_json(geometry)
        failures += geometry.failures
    if failures:
        document["failures"] = list(failures)
    writes: list[Callable[[], object]] = []
    if out is not None:
        writes.append(
            partial(store_comparison, document, config, out, started=started, force=force)
        )
    if plot is not None:
        writes.append(partial(draw_scores, document, plot, force=force))
    if report is not None:
        page = partial(_page_parts, opened, tasks, config, shown, examples)
        writes.append(lambda: write_report(document, page(), report, force=force))
    for write in writes:  # before printing, which the end of a pipe may end
        try:
            write()
        except FirthError as error:
            failures.append(str(error))
    if as_json:
        print_json(document)
    elif as_csv:
        write_csv(document["results"], sys.stdout)
    else:
        print_report(comparison, config.unknown)
        if geometry is not None:
            print_geometry(geometry, short_names(comparison.runs))
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        sys.exit(1)


def _page_parts(
    opened: "Opened",
    tasks: "list[Task]",
    config: CompareConfig,
    curve: "Mapping[str, Any] | None",
    given: Sequence[str],
) -> "ReportParts":
    """What the page shows of the runs beside their scores."""
    from corpora.console import note
    from embed.compare.page_examples import find_in_context, read_attention
    from embed.compare.page_parts import (
        ReportParts,
        choose_words,
        find_neighbors,
        first_of_seeds,
        make_maps,
        read_facts,
    )

    runs = first_of_seeds(opened.vectors, opened.groups)
    words = choose_words(list(runs.values()), [task.texts() for task in tasks])
    examples = list(dict.fromkeys(given)) or [_EXAMPLE]
    attention = read_attention(runs, examples)
    if given and not attention:
        note("--example: no RUN has an encoder that could read it")
    contexts = find_in_context(runs, opened.paths, examples)
    marked = [a.word for found in contexts.values() if not isinstance(found, str) for a in found]
    return ReportParts(
        config=config,
        maps=make_maps(runs, words),
        neighbors=find_neighbors(runs, [*marked, *words]),
        facts=read_facts({run: opened.paths[run] for run in runs}),
        curve=curve,
        attention=attention,
        contexts=contexts,
    )


def _refuse_places(
    runs: tuple[str, ...],
    config: CompareConfig,
    curve: Path | None,
    plot: Path | None,
    report: Path | None,
    out: Path | None,
    force: bool,
) -> None:
    """Refuse what cannot be written, before any work, which may take minutes."""
    from corpora.errors import SettingError
    from corpora.pictures import picture_kind
    from corpora.replacing import refuse_standing
    from embed.compare.comparison import named_sets
    from embed.compare.stored import refuse_out

    if plot is not None:
        picture_kind(plot)
    files = [file for file in (plot, report) if file is not None]
    for file in files:
        refuse_standing(file, force)
    parts = (
        part
        for task, file in named_sets(config)
        for part in (str(file).split(",") if task in _FILES_WITH_COMMAS else [file])
    )
    read = [Path(each) for each in (*runs, *parts)] + ([] if curve is None else [curve])
    for number, file in enumerate(files):
        if file.resolve() in {each.resolve() for each in (*read, *files[:number])}:
            raise SettingError(f"{file}: is read, or written already; choose another file")
    if out is not None:
        refuse_out(out, [*read, *files], force=force)
