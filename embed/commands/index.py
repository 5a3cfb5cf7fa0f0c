"""``firth index``: make an index of a run for approximate nearest neighbors."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, option


@click.command("index", cls=Command)
@click.argument("run", type=PATH)
@option(
    "--recall",
    default=0.95,
    help="Share of the 10 nearest words to find; more takes longer searches.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: Path, recall: float, as_json: bool) -> None:
    """Make an index of a run for approximate nearest neighbors.

    RUN is a run directory with dense vectors. The index lies in it, or in the
    cache if it cannot be written, and replaces an earlier one. What it finds of
    the 10, 100 and 1,000 nearest words is measured on 1,000 random words and stored.
    Search stays exact unless neighbors is told --approximate. An index is of use for
    many queries on hundreds of thousands of words; it needs the extra ann.

    \b
    Example:
        firth index out/svd
        firth neighbors out/svd king paris --approximate
    """
    from firth.corpora.common.console import print_json
    from firth.embed.query.index import make_index

    index = make_index(run, recall=recall)
    about = index.about
    if as_json:
        shown = ("words", "dim", "recall", "recalls", "sample", "effort", "bytes")
        print_json({"path": str(index.path)} | {key: about[key] for key in shown})
        return
    click.echo(
        f"{index.path}: {about['words']:,} words, {about['bytes'] / 1e6:,.1f} MB; finds "
        f"{index.recall:.1%} of the 10 nearest words, {index.recall_for(100)[1]:.1%} of 100 "
        f"(measured on {about['sample']:,} words)"
    )
