"""``firth refine``: steps on the vectors of a run."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.options import click_options
from firth.embed.refine.config import RefineConfig


@click.command("refine", cls=Command)
@click.argument("run", type=PATH)
@option(
    "--related",
    type=PATH,
    metavar="FILE",
    help="Retrofit to these lists: a word and its related words a line, separated by spaces.",
)
@click_options(RefineConfig)
@option("--out", required=True, type=PATH, help="The run to make.", group=OUTPUT)
@option("--force", is_flag=True, help="Overwrite the run at --out.", group=OUTPUT)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    run: Path, related: Path | None, out: Path, force: bool, as_json: bool, **options: Any
) -> None:
    """Center, whiten, reduce or retrofit the vectors of a run.

    RUN is a run directory, a vectors file or a Hugging Face folder. The steps
    asked for are done in a fixed order: --normalize, --related (of unit vectors),
    --center, --remove-top, --dim, --whiten, --normalize again. The run at --out has
    the same words and counts, and names RUN and the steps. N-grams, pieces and
    context vectors are left out.

    \b
    Example:
        firth refine out/skipgram --remove-top 2 --out out/skipgram-refined
        firth refine out/svd --related synonyms.txt --out out/svd-synonyms
        firth compare out/skipgram out/skipgram-refined
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.common.options import take
    from firth.embed.refine.api import refine_vectors
    from firth.embed.runs.run import Run

    config = take(RefineConfig, options)
    made = refine_vectors(run, config, related=related, out=out, force=force)
    recipe = Run.open(out).options
    if as_json:
        print_json({name: recipe[name] for name in ("source", "steps")})
        return
    for step in recipe["steps"]:
        click.echo(_line(step))
    click.echo(f"{out}: {len(made):,} words, {made.dim} dimensions")


def _line(step: dict[str, Any]) -> str:
    """Describe a finished step."""
    from firth.corpora.common.console import counted

    match step["step"]:
        case "retrofit":
            pairs = f"{counted(step['pairs'], 'pair')} of {step['found']:,} words"
            return f"{step['path']}: {pairs}; words without a vector: {step['unknown']:,}"
        case "center":
            return "centered"
        case "remove_top":
            what = counted(step["n"], "component")
            return f"removed {what} with {step['variance']:.1%} of the variance"
        case "dim":
            what = counted(step["n"], "component")
            return f"kept {what} with {step['variance']:.1%} of the variance"
        case "whiten":
            return "whitened"
    return "unit length"
