"""``firth search``: find the lines of one's own texts that are nearest to a question."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, device_option, option


@click.command("search", cls=Command)
@click.argument("run", type=PATH)
@click.argument("text", nargs=-1)
@option("-k", default=10, help="Lines to find.")
@option(
    "--approximate",
    is_flag=True,
    help="Search by the index of firth index, which may miss some; JSON then has its recall.",
)
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, text: tuple[str, ...], k: int, approximate: bool, device: str, as_json: bool
) -> None:
    """Find the lines or documents that are nearest to a text by cosine.

    RUN is a folder that firth encode made of a text or a corpus. The words of TEXT
    are one query; without them each line of standard input is one. Printed are the
    rank, the cosine, where the line is from, and its text.

    \b
    Example:
        firth encode out/svd sentences.txt --sif --out out/lines
        firth search out/lines "a ship on the sea"
        firth search out/lines --json -k 3 < questions.txt
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.common.reporting import note
    from firth.embed.contextual.text_search import TextSearch
    from firth.embed.query.prompt import read_queries

    opened = TextSearch.open(run, device)
    recall = opened.index.recall_for(k) if approximate else None
    if recall is not None:
        note(
            f"approximate: {recall[1]:.1%} of the {recall[0]:,} nearest are found, by the sample "
            "of firth index"
        )
    queries = [" ".join(text)] if text else [" ".join(words) for words in read_queries()]
    found = {query: opened.search(query, k, approximate=approximate) for query in queries}
    if as_json:
        objects = {query: [line._asdict() for line in lines] for query, lines in found.items()}
        print_json(objects if recall is None else {"recall": recall[1], "found": objects})
        return
    for query, lines in found.items():
        if len(found) > 1:
            click.echo(query)
        for rank, line in enumerate(lines, 1):
            click.echo(f"{rank:>3}  {line.cosine:7.4f}  {line.source}\n     {_shown(line.text)}")


def _shown(text: str, width: int = 200) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
