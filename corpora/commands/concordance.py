"""``firth concordance``: print occurrences of a word or phrase with the text around them."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, count_option, option

if TYPE_CHECKING:
    from firth.corpora.store.concordance import Concordance

_SIDE = 48  # columns of a terminal for the words before the occurrence
_LABEL, _LONGEST_LABEL = 24, 60  # columns for the document, and if `cite` says by what


@click.command("concordance", cls=Command)
@click.argument("corpus", type=PATH)
@click.argument("query")
@count_option("--lines", 25, "Lines to print")
@option(
    "--sort",
    "order",
    type=click.Choice(["text", "left", "right", "sample"]),
    default="text",
    help="Order of the text, by the words on one side, or a random sample.",
)
@option("--width", default=8, help="Words on each side.")
@option("--near", metavar="QUERY", help="Only where this word or phrase is near.", group="Where")
@option(
    "--window",
    default=5,
    needs="--near",
    help="With --near, how many words away at most.",
    group="Where",
)
@option(
    "--documents",
    metavar="FIELD=VALUE,...",
    help="Only documents with these kept fields; a range is a value: year=1840-1870, year=1880-.",
    group="Where",
)
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    needs="--sort sample",
    help="Seed of the sample.",
)
@option(
    "--cite",
    metavar="FIELD,...",
    help="Kept fields that say where a line is from (default: author, title, year).",
    group=OUTPUT,
)
@option("--csv", "as_csv", is_flag=True, help="Print CSV.", group=OUTPUT, excludes=["--json"])
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(corpus: Path, query: str, as_csv: bool, as_json: bool, **options: Any) -> None:
    """Print occurrences of a word or phrase with the text around them.

    In QUERY, * stands for any characters of a word, and alone for any word. The first
    use indexes the corpus, which takes 4 bytes a token.

    \b
    Example:
        firth concordance out/wiki sea
        firth concordance out/wiki "the * of" --sort right
        firth concordance out/wiki sea --near ship --window 10 --csv > sea.csv
        firth concordance out/novels bahn --documents author=Fontane,year=1880- \\
            --cite author,title,year
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.store.concordance import concordance
    from firth.corpora.store.corpus import Corpus

    found = concordance(Corpus.open(corpus), query, **options)
    if as_json:
        print_json({"found": found.n_found, "lines": [asdict(line) for line in found.lines]})
    elif as_csv:
        _print_csv(found)
    else:
        _print(found, _LABEL if options["cite"] is None else _LONGEST_LABEL)


def _print_csv(found: "Concordance") -> None:
    """Print a row per occurrence."""
    from firth.corpora.common.console import print_csv

    fields = list(found.lines[0].fields) if found.lines else []
    columns = ["document", "source", "record", "token", *fields]
    columns += ["left", "found", "right", "citation"]
    rows = [
        [line.document, line.source, line.record, line.token]
        + [line.fields[name] for name in fields]
        + [line.left, line.found, line.right, line.citation]
        for line in found.lines
    ]
    print_csv(columns, rows)


def _print(found: "Concordance", longest: int) -> None:
    """Print the occurrences below each other, with up to so many columns for the document."""
    from rich.cells import cell_len

    from firth.corpora.common.console import fitted, padded
    from firth.corpora.common.reporting import note

    labels = [f"{line.document} {line.citation}" for line in found.lines]
    width = max(_LABEL, min(longest, max(map(cell_len, labels), default=0)))
    for line, label in zip(found.lines, labels, strict=True):
        left = fitted(line.left, _SIDE, end=True)
        marked = click.style(line.found, bold=True)
        click.echo(f"{padded(fitted(label, width), width)} {left}  {marked}  {line.right}")
    note(f"{len(found.lines):,} of {found.n_found:,} occurrences")
