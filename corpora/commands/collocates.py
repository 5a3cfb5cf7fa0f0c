"""``firth collocates``: print the words that stand near a word more often than elsewhere."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, count_option, option

if TYPE_CHECKING:
    from firth.corpora.store.collocates import Collocate, Collocates


@click.command("collocates", cls=Command)
@click.argument("corpus", type=PATH)
@click.argument("query", required=False)
@option(
    "--measure",
    type=click.Choice(["log-odds", "log-likelihood", "log-dice", "ppmi"]),
    default="log-odds",
    help="What words are sorted by; log-odds by their z-scores.",
)
@option("--window", default=5, help="Words on each side.")
@count_option("--top", 20, "Words to print")
@option("--min-count", default=5, help="Leave out rarer collocates.")
@option("--versus", metavar="QUERY", help="Compare with the words near this one.", group="Compare")
@option(
    "--versus-documents",
    metavar="FIELD=VALUE,...",
    help="Compare documents that have these kept fields, such as year=1890-1920, with the others; "
    "QUERY may be left out.",
    group="Compare",
)
@option("--csv", "as_csv", is_flag=True, help="Print CSV.", group=OUTPUT, excludes=["--json"])
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    corpus: Path,
    query: str | None,
    versus: str | None,
    versus_documents: str | None,
    as_csv: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the words that stand near a word more often than elsewhere.

    Each has an interval over documents: of its score, or with log-odds and
    log-likelihood of the log odds ratio, which no prior shrinks. With --versus
    or --versus-documents two lists are printed, one for each side.

    \b
    Example:
        firth collocates out/wiki sea
        firth collocates out/wiki sea --measure log-dice --window 3
        firth collocates out/wiki sea --versus ocean
        firth collocates out/news --versus-documents year=1990
    """
    from firth.corpora.common.console import print_csv, print_json
    from firth.corpora.common.reporting import note
    from firth.corpora.store.collocates import collocates
    from firth.corpora.store.corpus import Corpus

    text = Corpus.open(corpus)
    found = collocates(text, query, versus=versus, versus_documents=versus_documents, **options)
    if as_json:
        print_json(asdict(found))
    elif as_csv:
        print_csv(
            ["word", "near", "other", found.measure, *_ratio(found), "low", "high"],
            [
                [value for value in asdict(row).values() if value is not None]
                for row in (*found.rows, *found.lowest)
            ],
        )
    else:
        other = versus or ("other documents" if versus_documents else "elsewhere")
        side = ", ".join(filter(None, [query and f"near {query}", versus_documents]))
        other = f"near {versus}" if versus else other
        columns = [text.text.noun, side, other, found.measure, *_ratio(found), "95 %"]
        _print(columns, found.rows)
        if found.lowest:
            _print(columns, found.lowest)
        if found.unit != "document":
            note(f"few documents, so intervals are over {found.unit}s")


def _ratio(found: "Collocates") -> list[str]:
    """Return the heading of what the interval is of, if it is not of the score."""
    return [] if found.interval_of == found.measure else [found.interval_of]


def _print(columns: Sequence[str], rows: "Sequence[Collocate]") -> None:
    """Print a row per word."""
    from firth.corpora.common.console import print_table

    cells = []
    for row in rows:
        ratio = [] if row.log_odds_ratio is None else [f"{row.log_odds_ratio:.2f}"]
        interval = f"{row.low:.2f} {row.high:.2f}"
        cells.append(
            [row.word, f"{row.near:,}", f"{row.other:,}", f"{row.score:.2f}", *ratio, interval]
        )
    print_table(columns, cells)
