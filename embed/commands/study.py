"""``firth study``: the whole chain on one text, from a corpus to a page of scores."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from embed.study.study import Made


@click.command("study")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of all that is made."
)
@click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A study as TOML, in the place of SOURCE and of the options that follow.",
)
@click.option(
    "--methods",
    metavar="METHOD,...",
    help="Methods, with commas between.  [default: svd,cbow,skipgram,mlm]",
)
@click.option(
    "--budget", metavar="TIME", help="What all of it may take, about: 10m, 2h.  [default: 30m]"
)
@click.option(
    "--words", metavar="WORD,...", help="Whose neighbours are printed; some are chosen by default."
)
@click.option(
    "--force", is_flag=True, help="Make anew what other settings made in --out, and what follows."
)
def command(
    sources: tuple[str, ...],
    out: Path,
    settings: Path | None,
    methods: str | None,
    budget: str | None,
    words: str | None,
    force: bool,
) -> None:
    """Train every method on one text, compare them, and write a page.

    SOURCE is what build-corpus made, or texts of which a corpus is built. Settings
    are chosen for its size, its language and the time there is; each step is a
    command, shown as it is typed. Interrupted, the same study goes on where it
    was. OUT holds corpus, runs, comparison, report.html, and study.toml with all
    that was chosen: with --settings it is repeated, perhaps after changes.

    \b
    Example:
        firth study wiki-sample --out out/study --budget 10m
        firth study novels/*.txt --out out/novels --methods svd,skipgram
        firth study --settings out/novels/study.toml --out out/again
    """
    from embed.study.settings import DEFAULT_BUDGET, DEFAULT_METHODS, Study, read_study
    from embed.study.study import make_study

    if settings is None and not sources:
        raise click.UsageError("Missing argument 'SOURCE...', or --settings.")
    if settings is not None and (sources or methods or budget or words):
        raise click.UsageError("--settings goes without SOURCE, --methods, --budget and --words")
    if settings is not None:
        study = read_study(settings)
    else:
        named = DEFAULT_METHODS if methods is None else _listed(methods)
        study = Study(sources, named, budget or DEFAULT_BUDGET, _listed(words))
    made = make_study(study, out, force=force)
    _tell(made, out)
    if made.failures:
        sys.exit(1)


def _listed(text: str | None) -> tuple[str, ...]:
    """The parts of a list with commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _tell(made: "Made", out: Path) -> None:
    """Where everything lies, and what can be typed next."""
    from corpora.common.console import typed

    run = typed(made.runs[0])
    click.echo(f"\n{out}:")
    for name, what in _CONTENTS.items():
        if made.compared or name == "study.toml":
            click.echo(f"    {name:<12} {what}")
    click.echo(f"the text is {typed(made.corpus)}; runs: {', '.join(map(typed, made.runs))}")
    click.echo("To go on:")
    click.echo(f"    firth neighbors {run}")
    click.echo(f"    firth recommend {typed(made.corpus)}")
    click.echo(f"    firth study --settings {typed(out / 'study.toml')} --out ANOTHER")
    for failure in made.failures:
        click.echo(f"Error: {failure}", err=True)


_CONTENTS = {
    "report.html": "scores, differences, maps, neighbours: open it in a browser",
    "comparison": "the same as JSON and CSV",
    "study.toml": "every setting; change it, keep it, repeat it",
}
