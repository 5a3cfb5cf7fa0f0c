"""``firth learning-curve``: train on nested samples of a corpus and plot scores against size."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpora.common.options import as_command_line, click_options, take
from embed.compare.config import CompareConfig
from embed.compare.curves.learning_curve import CurveConfig

if TYPE_CHECKING:
    from embed.compare.curves.runs import Recipe
    from embed.compare.task import Task

_UNSEEDED = ("svd",)  # converges to the same result from any seed


@click.command("learning-curve")
@click.argument("corpus")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of the runs to make."
)
@click_options(CurveConfig)
@click_options(CompareConfig, skip=("sections", "bands", "intrinsic", "seed"))
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the curves; a .png or .svg file."
)
@click.option("--force", is_flag=True, help="Overwrite the file at --plot.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    corpus: str, out: Path, plot: Path | None, force: bool, as_json: bool, **options: Any
) -> None:
    """Show how each method's scores grow with the size of the text.

    Every method is trained with its default options on nested samples of the
    training documents and on all of them, as runs METHOD-SIZE in --out. Runs are
    scored on the items that all of them cover, and each on all the items it
    covers, with 95 % intervals (bootstrap over items). Existing runs are kept and
    interrupted training resumes, so repeating the command finishes the work, and
    adding sizes trains only those. --out/curve.json contains what --json prints.

    \b
    Example:
        firth learning-curve out/wiki --out out/curve --sizes 200K,500K --plot curve.svg
        firth learning-curve out/wiki --out out/curve --methods svd,skipgram --seeds 3 --json
    """
    from corpora.artifacts.artifact import write_json
    from corpora.artifacts.atomic import refuse_overwrite, write_whole
    from corpora.artifacts.figures import picture_kind
    from corpora.common.console import print_json
    from corpora.common.reporting import note
    from embed.compare.curves.learning_curve import CURVE
    from embed.compare.curves.picture import draw_curve
    from embed.compare.curves.table import print_curve
    from embed.compare.scoring.comparison import readable_tasks

    config, comparing = take(CurveConfig, options), take(CompareConfig, options)
    recipes = _recipes(config)
    if plot is not None:  # before any work, which may take hours
        picture_kind(plot)
        refuse_overwrite(plot, force)
    tasks, unread = readable_tasks(comparing)
    _print_errors(unread)
    document = _make(corpus, out, config, recipes, tasks, comparing)
    (print_json if as_json else print_curve)(document)  # before writing, which a full disk may fail
    write_whole(out / CURVE, lambda path: write_json(path, document))
    if plot is not None:
        draw_curve(document, plot, force=force)
    note(f"{out / CURVE}: {len(document['results'])} results")
    failures = document.get("failures", [])
    _print_errors(failures)
    if unread or failures:
        sys.exit(1)


def _print_errors(failures: list[str]) -> None:
    """Print one error line per failure on standard error."""
    for failure in failures:
        click.echo(f"Error: {as_command_line(failure)}", err=True)


def _recipes(config: CurveConfig) -> "dict[str, Recipe]":
    """Return the recipe of each method; raise now if a seed is out of its range."""
    recipes = {name.strip(): _recipe(name.strip()) for name in config.methods.split(",")}
    for recipe in recipes.values():
        last = config.seed + (config.seeds - 1 if recipe.seeded else 0)
        for seed in (config.seed, last):
            recipe.config(seed=seed)
    return recipes


def _recipe(name: str) -> "Recipe":
    """Return how to train one method with its defaults."""
    from embed.compare.curves.runs import Recipe
    from embed.registry import find_method

    method = find_method(name)
    return Recipe(
        lambda **options: take(method.config_class(), options),
        method.train_function(),
        seeded=name not in _UNSEEDED,
    )


def _make(
    source: str,
    out: Path,
    config: CurveConfig,
    recipes: "dict[str, Recipe]",
    tasks: "list[Task]",
    comparing: CompareConfig,
) -> dict[str, Any]:
    """Train missing runs, score all of them, and return the JSON document."""
    from corpora.build.open_or_build import open_or_build
    from corpora.common.errors import FirthError
    from corpora.store.sampling import default_sizes, parse_sizes
    from embed.compare.curves.document import to_document
    from embed.compare.curves.learning_curve import take_samples
    from embed.compare.curves.runs import check_points, lay_out, record_runs, train_points
    from embed.compare.scoring.open_runs import compare_opened, open_runs

    given = None if config.sizes is None else parse_sizes(config.sizes)
    corpus = open_or_build(source)
    sizes = default_sizes(corpus.training_tokens) if given is None else given
    samples = take_samples(corpus, sizes, config.seed)
    seeds = range(config.seed, config.seed + config.seeds)
    points = lay_out(recipes, samples, seeds, out)
    check_points(points, recipes, out)
    record_runs(points, recipes, out)
    trained, failures = train_points(points, recipes)
    if not trained:
        raise FirthError(failures[0])
    opened = open_runs([str(point.run) for point in trained])
    comparison = compare_opened(opened, tasks, comparing)
    return to_document(corpus, trained, comparison, comparing.unknown, failures)
