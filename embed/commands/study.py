"""``firth study``: the whole chain on one text, from corpus to report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firth.corpora.common.command import PATH, Command, option
from firth.corpora.common.options import split_list

if TYPE_CHECKING:
    from firth.embed.study.study import StudyResult


@click.command("study", cls=Command)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@option("--out", required=True, type=PATH, help="Folder of all outputs.")
@option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="TOML file that replaces SOURCE, --methods, --budget and --words.",
)
@option(
    "--methods",
    metavar="METHOD,...",
    help="Methods, separated by commas.  [default: svd,cbow,skipgram,mlm]",
)
@option(
    "--budget", metavar="TIME", help="Approximate time for everything: 10m, 2h.  [default: 30m]"
)
@option(
    "--words",
    metavar="WORD,...",
    help="Words whose neighbors are printed and, with a map, in the report; by default chosen.",
)
@option(
    "--force",
    is_flag=True,
    help="Redo steps made with other settings, and all steps that depend on them.",
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
    """Train every method on one text, compare them, and write a report.

    SOURCE is a corpus made by build-corpus, or texts to build one from. Settings are
    chosen by the text's size and language and by the budget; for each step the
    command that does the same is printed. If interrupted, run the same study to
    resume. OUT contains corpus, runs, comparison, report.html, and study.toml with
    all settings: pass it to --settings to repeat the study, as is or edited. A step
    that the text or the machine does not allow is left out, which is said at the
    start, at the end and in the report. The exit status is 1 if another step fails,
    else 0.

    \b
    Example:
        firth study wiki-sample --out out/study --budget 10m
        firth study novels/*.txt --out out/novels --methods svd,skipgram
        firth study --settings out/novels/study.toml --out out/again
    """
    from firth.embed.study.settings import DEFAULT_BUDGET, DEFAULT_METHODS, Study, read_study
    from firth.embed.study.study import study

    if settings is None and not sources:
        raise click.UsageError("Missing argument 'SOURCE...', or --settings.")
    if settings is not None and (sources or methods or budget or words):
        raise click.UsageError(
            "--settings cannot be combined with SOURCE, --methods, --budget or --words"
        )
    if settings is not None:
        chosen = read_study(settings)
    else:
        named = DEFAULT_METHODS if methods is None else split_list(methods)
        chosen = Study(sources, named, budget or DEFAULT_BUDGET, split_list(words))
    result = study(chosen, out, force=force)
    _print_summary(result, out)
    if result.failures:
        sys.exit(1)


def _print_summary(result: "StudyResult", out: Path) -> None:
    """Print the outputs, commands to try next, and failures."""
    from firth.corpora.common.console import print_error, shell_quoted
    from firth.corpora.common.reporting import note

    run = shell_quoted(result.runs[0])
    click.echo(f"\n{out}:")
    for name, what in _CONTENTS.items():
        if result.compared or name == "study.toml":
            click.echo(f"    {name:<12} {what}")
    click.echo(
        f"corpus: {shell_quoted(result.corpus)}; runs: {', '.join(map(shell_quoted, result.runs))}"
    )
    click.echo("Next:")
    click.echo(f"    firth neighbors {run}")
    click.echo(f"    firth recommend {shell_quoted(result.corpus)}")
    click.echo(f"    firth study --settings {shell_quoted(out / 'study.toml')} --out ANOTHER")
    for line in result.left_out:
        note(f"left out: {line}")
    for failure in result.failures:
        print_error(failure)


_CONTENTS = {
    "report.html": "scores, differences, maps, neighbors: open it in a browser",
    "comparison": "the scores as JSON and CSV",
    "study.toml": "all settings; edit and repeat with --settings",
}
