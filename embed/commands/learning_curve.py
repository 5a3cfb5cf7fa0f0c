"""``firth learning-curve``: train on nested samples of a corpus and plot scores against size."""

import sys
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import Command
from firth.corpora.common.options import as_command_line, click_options, take
from firth.embed.commands.sets import set_options, taken_sets
from firth.embed.compare.config import PYTHON_ONLY, CompareConfig
from firth.embed.compare.curves.learning_curve import CurveConfig


@click.command("learning-curve", cls=Command)
@click.argument("corpus")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of the runs to make."
)
@click_options(CurveConfig)
@set_options
@click_options(
    CompareConfig, skip=(*PYTHON_ONLY, "pooling", "sections", "bands", "intrinsic", "seed")
)
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the curves; a .png or .svg file."
)
@click.option("--force", is_flag=True, help="Overwrite the file at --plot.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    corpus: str,
    files: tuple[str, ...],
    out: Path,
    plot: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Show how each method's scores grow with the size of the text.

    Every method is trained with its default options on nested samples of the
    training documents and on all of them, as runs METHOD-SIZE in --out. FILE is an
    evaluation set, as compare takes it. Runs are scored on the items that all of
    them cover, and each on all the items it covers, with 95 % intervals (bootstrap
    over items). Existing runs are kept and interrupted training resumes, so
    repeating the command finishes the work, and adding sizes trains only those.
    --out/curve.json contains what --json prints.

    \b
    Example:
        firth learning-curve out/wiki --out out/curve --sizes 200K,500K --plot curve.svg
        firth learning-curve out/wiki --out out/curve --methods svd,skipgram --seeds 3 --json
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.console import print_error, print_json
    from firth.corpora.common.reporting import note
    from firth.corpora.encoding.build import open_or_build
    from firth.corpora.store.sampling import parse_sizes
    from firth.embed.compare.curves.api import make_curve, write_curve
    from firth.embed.compare.curves.learning_curve import CURVE
    from firth.embed.compare.curves.picture import draw_curve
    from firth.embed.compare.curves.runs import methods_of
    from firth.embed.compare.curves.table import print_curve
    from firth.embed.compare.scoring.sets import readable_tasks

    config = take(CurveConfig, options)
    comparing = take(CompareConfig, options | {"sets": taken_sets(files, options)})
    methods = methods_of(config)
    if plot is not None:  # before any work, which may take hours
        picture_kind(plot)
        refuse_overwrite(plot, force)
    tasks, unread = readable_tasks(comparing)
    for error in unread:
        print_error(as_command_line(error))
    if config.sizes is not None:  # before a corpus is built
        parse_sizes(config.sizes)
    document = make_curve(open_or_build(corpus), out, config, methods, tasks, comparing)
    (print_json if as_json else print_curve)(document)  # before writing, which a full disk may fail
    write_curve(document, out)
    if plot is not None:
        draw_curve(document, plot, force=force)
    note(f"{out / CURVE}: {len(document['results'])} results")
    failures = document.get("failures", [])
    for failure in failures:
        print_error(as_command_line(failure))
    if unread or failures:
        sys.exit(1)
