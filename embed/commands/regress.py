"""``firth regress``: regress what a word means on the fields of its documents."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.options import click_options
from firth.embed.regress.config import DOCUMENT, OCCURRENCE, RegressConfig

if TYPE_CHECKING:
    from firth.embed.regress.result import CosineRatio, Regression, WordCosine

_RATIOS = 5  # of each pair of groups, from either end


@click.command("regress", cls=Command)
@click.argument("place", metavar="RUN|CORPUS", type=PATH)
@click.argument("topics", metavar="WORD...", nargs=-1, required=True)
@option(
    "--by",
    metavar="FIELD,...",
    required=True,
    help="Kept fields; a*b stands for a, b and their product.",
)
@option("--vectors", type=PATH, help="A run or file of vectors, for a corpus.")
@option("--transform", type=PATH, help="A file with the matrix, else estimated from the corpus.")
@option("--corpus", type=PATH, help="The corpus of the run, or a folder of corpora, if it moved.")
@option("--words", metavar="WORD,...", help="Words whose cosines with each group are shown.")
@option("-k", type=click.IntRange(min=1), default=10, help="Nearest words of each group.")
@option("--lines", type=click.IntRange(min=0), default=2, help="Occurrences of each group.")
@option(
    "--cite",
    metavar="FIELD,...",
    help="Kept fields that say where these are from (default: author, title, year).",
)
@click_options(RegressConfig)
@option("--report", metavar=OUTPUT, type=PATH, help="Write a page with pictures.")
@option("--force", is_flag=True, help="Replace an existing page.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    place: Path, topics: Sequence[str], by: str, vectors: Path | None, transform: Path | None,
    corpus: Path | None, words: str | None, k: int, lines: int, cite: str | None,
    report: Path | None, force: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Regress what a word means on the fields of its documents.

    Each occurrence of WORD (or a phrase, or a pattern such as 'immigr*'; commas
    join several to one topic) has a vector, made of those of the words around it.
    Coefficients say how the vectors differ by each field while others are equal.

    \b
    Example:
        firth build-corpus speeches.jsonl --keep party,year,speaker --out out/speeches
        firth train-svd out/speeches --out out/speeches-svd
        firth regress out/speeches-svd immigration --by party,year
        firth regress out/speeches-svd 'immigr*' --by 'party*year' --cluster speaker \\
            --words reform,border --report out/immigration.html
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.common.console import print_json
    from firth.corpora.common.options import split_list, take
    from firth.corpora.common.reporting import note
    from firth.embed.regress.regress import regress
    from firth.embed.regress.report import write_regression_report

    if report is not None:
        refuse_overwrite(report, force)
    found = regress(
        place, topics, by, take(RegressConfig, options), vectors=vectors, transform=transform,
        corpora=[] if corpus is None else [corpus],
        words=[] if words is None else split_list(words), k=k, lines=lines, cite=cite,
    )  # fmt: skip
    if report is not None:
        write_regression_report(found, report, force=force)
        note(f"{report}: open it in a browser")
    if as_json:
        print_json([each.to_json() for each in found])
    else:
        for each in found:
            _print(each)


def _print(found: "Regression") -> None:
    """Print the coefficients, then the words of groups, their ratios, and occurrences."""
    from firth.corpora.common.console import print_table

    rows = [
        (
            each.name, f"{each.squared:.4g}",
            *("" if n is None else f"{n:.4g}" for n in (each.debiased, each.error)),
            "" if each.low is None else f"{each.low:.4g} {each.high:.4g}",
            f"{each.p:.2g}" if each.p is not None else each.reason or "",
        )
        for each in found.coefficients
    ]  # fmt: skip
    title = f"{found.topic} ({found.source}): {found.occurrences:,} occurrences in "
    title += f"{found.documents:,} documents"
    if found.cluster not in {DOCUMENT, OCCURRENCE}:
        title += f", {found.clusters:,} clusters by {found.cluster}"
    columns = ["covariate", "squared length", "less bias", "error", "95 %", "p"]
    print_table(columns, rows, title=title)
    groups = [
        (group.field, group.name, f"{group.occurrences:,}", ", ".join(map(_cosine, near)))
        for group in found.groups
        for near in (group.words, group.nearest)
        if near
    ]
    if groups:
        print_table(["field", "group", "occurrences", "cosine [95 %]"], groups)
    ratios = [
        (
            f"{each.field}: {each.group} by {each.reference}", each.word, f"{each.ratio:.2f}",
            f"{each.low:.2f} {each.high:.2f}", f"{each.p:.2g}",
        )
        for each in _ends(found.ratios)
    ]  # fmt: skip
    if ratios:
        print_table(["groups", "word", "ratio of cosines", "95 %", "p"], ratios)
    for group in found.groups:
        for line in group.lines:
            text = f"{line.left} [{line.found}] {line.right} ({line.citation})"
            click.echo(f"{group.field}={group.name}: {text}")
    if found.reference:
        click.echo(f"levels are compared with {', '.join(found.reference)}")
    if found.transform and found.transform["words"]:
        about = found.transform
        click.echo(
            f"the matrix is of {about['words']:,} words; of words left out it finds the vectors "
            f"with a mean cosine of {about['cosine']:.2f}"
        )


def _ends(ratios: "Sequence[CosineRatio]") -> "list[CosineRatio]":
    """Return the largest and the smallest ratios of each pair of groups."""
    shown: list[CosineRatio] = []
    for _, pair in groupby(ratios, key=lambda each: (each.field, each.group)):
        rows = list(pair)
        shown += rows if len(rows) <= 2 * _RATIOS else rows[:_RATIOS] + rows[-_RATIOS:]
    return shown


def _cosine(near: "WordCosine") -> str:
    """Return a word with its cosine and the ends of the interval."""
    ends = "" if near.low is None else f" [{near.low:.2f} {near.high:.2f}]"
    return f"{near.word} {near.cosine:.2f}{ends}"
