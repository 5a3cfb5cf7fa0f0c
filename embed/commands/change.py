"""``firth change``: sort words by how much they change between periods."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, count_option, option
from firth.corpora.common.options import click_options
from firth.embed.change.config import ChangeConfig

if TYPE_CHECKING:
    from firth.embed.change.result import ChangedWord, WordChanges

_PICTURES = 6  # of asked words, on a page


@click.command("change", cls=Command)
@click.argument("corpus", type=PATH)
@click.argument("other", required=False, type=PATH)
@option("--by", metavar="FIELD", help="The kept field that divides the documents.", group="Periods")
@option(
    "--periods",
    metavar="A-B,...",
    help="Two or more ranges of numbers or dates (1840-1869, 1890-), decades (1840s), or values.",
    group="Periods",
)
@option(
    "--within",
    metavar="FIELD,...",
    group="Periods",
    help="Kept fields, such as genre: chance is measured among documents that are alike in them.",
)
@option(
    "--words",
    metavar="WORD,...",
    help="Show these words only; no others are compared, unless --out makes a run.",
    group="Shown words",
)
@count_option("--top", 20, "Words to show", excludes=["--words"], group="Shown words")
@option(
    "-k",
    type=click.IntRange(min=1),
    default=5,
    help="Neighbors in each period.",
    group="Shown words",
)
@option(
    "--lines",
    type=click.IntRange(min=0),
    default=0,
    help="Occurrences to show of each word in each period, a random sample.",
    group="Shown words",
)
@option(
    "--cite",
    metavar="FIELD,...",
    help="Kept fields that say where these are from (default: author, title, year).",
    group="Shown words",
    needs="--lines",
)
@click_options(ChangeConfig)
@option(
    "--out",
    type=PATH,
    help="Write a run with the vectors of word@period, and change.tsv with all words.",
    group=OUTPUT,
)
@option(
    "--plot",
    type=(PATH, str),
    metavar="FILE WORD",
    help="Draw the path of a word among its neighbors, a .png or .svg file.",
    group=OUTPUT,
)
@option(
    "--report",
    type=PATH,
    metavar="FILE",
    help="Write an HTML page with the words that are shown, their neighbors and sentences.",
    group=OUTPUT,
)
@option("--force", is_flag=True, help="Overwrite --out, --plot and --report.", group=OUTPUT)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
@option("--csv", "as_csv", is_flag=True, help="Print CSV.", group=OUTPUT, excludes=["--json"])
def command(
    corpus: Path,
    other: Path | None,
    by: str | None,
    periods: str | None,
    within: str | None,
    words: str | None,
    top: int | None,
    k: int,
    lines: int,
    cite: str | None,
    out: Path | None,
    plot: tuple[Path, str] | None,
    report: Path | None,
    force: bool,
    as_json: bool,
    as_csv: bool,
    **options: Any,
) -> None:
    """Sort words by how surely and how far they change between periods.

    CORPUS is divided by a field that build-corpus kept, or OTHER is the later
    period; both may also be runs or vectors files. A run made by --out is opened
    again, for other words. The distance is 1 - cosine of
    a word's vectors in the first and the last period. p is the probability of a
    distance as large if the documents with the word had been dealt out to the
    periods at random, each period with as many tokens of the word as it has, so
    that a change of frequency alone is none; q is p corrected for the number of
    words (false discovery rate). With more than two periods, step is the distance
    from the period before. With --within documents are dealt out only among those
    that are alike in these fields, so that a change of genres or authors from one
    period to the next is not taken for a change of words; documents without a value
    are left out, and those of genres or authors that only one period has. "1
    document" marks words that have half of their tokens in a single document, such
    as names.

    \b
    Example:
        firth build-corpus novels.jsonl --keep year,genre --out out/novels
        firth change out/novels --by year --periods 1840-1869,1890-1920
        firth change out/novels --by year --periods 1840-1869,1890-1920 --words bahn \\
            --lines 3 --plot bahn.svg bahn
        firth change out/novels --by year --periods 1840-1869,1890-1920 --within genre
        firth change out/letters out/diaries --report change.html --out out/change
        firth change out/change --words home,war
        firth change out/letters-sg out/diaries-sg
        firth change letters.vec diaries.vec --words home,war
        firth change out/novels --by year --periods 1840-1869,1890-1920 \\
            --route contextual --encoder out/mlm --words bahn,klasse
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.console import print_csv, print_json
    from firth.corpora.common.options import split_list, take
    from firth.corpora.common.reporting import note
    from firth.corpora.store.corpus import Corpus, is_corpus
    from firth.corpora.store.fields import cited_fields
    from firth.embed.change.path_picture import draw_path
    from firth.embed.change.report import write_change_report
    from firth.embed.change.words import word_changes

    if as_csv and lines:
        raise click.UsageError("--csv has no room for --lines; use --json")
    asked = None if words is None else split_list(words)
    if plot is not None:  # before any work
        picture_kind(plot[0])
        refuse_overwrite(plot[0], force)
    if report is not None:
        refuse_overwrite(report, force)
    if cite is not None:
        for each in filter(is_corpus, filter(None, (corpus, other))):
            cited_fields(Corpus.open(each), cite)
    config = take(ChangeConfig, options)
    if plot is not None and config.route == "contextual" and asked and {*asked} == {plot[1]}:
        raise click.UsageError(
            "--plot needs neighbors, which --route contextual finds among --words; name more"
        )
    changes = word_changes(
        corpus, other, None if config == ChangeConfig() else config, by=by,
        periods=split_list(periods),
        within=() if within is None else split_list(within) or (within,), words=asked,
        require=() if plot is None else [plot[1]], out=out, force=force,
    )  # fmt: skip
    if plot is not None:
        draw_path(changes, plot[1], plot[0], force=force)
        note(f"{plot[0]}: the path of {plot[1]}")
    shown = changes.describe(asked, top=top, k=k, lines=lines, cite=cite)
    if report is not None:
        named = [word.word for word in shown if asked and word.missing is None]
        write_change_report(changes, shown, report, paths_of=_drawn(changes, named), force=force)
        note(f"{report}: open it in a browser")
    if as_json:
        print_json({
            "corpus": str(corpus), "other": None if other is None else str(other), "by": by,
            "within": list(changes.periods.within),
            "periods": changes.names, "route": changes.config.route, "n_tested": len(changes.table),
            "n_untested": changes.n_untested, "no_p": changes.no_p,
            "words": [dataclasses.asdict(word) for word in shown],
        })  # fmt: skip
    elif as_csv:
        columns = changes.table.columns()
        for missing in filter(None, (word.missing for word in shown)):
            note(missing)
        shown = [word for word in shown if word.missing is None]
        rows = [changes.row(word.word) for word in shown]
        near = [[" ".join(each) for each in word.neighbors] for word in shown]
        print_csv(
            [*columns, *(f"near@{name}" for name in changes.names)],
            [
                [*(column[row] for column in columns.values()), *each]
                for row, each in zip(rows, near, strict=True)
            ],
        )
    else:
        _print(changes, shown)


def _drawn(changes: "WordChanges", words: Sequence[str]) -> Sequence[str]:
    """Return the words whose path a page shows: some of those that were asked for."""
    from importlib.util import find_spec

    from firth.corpora.common.reporting import note

    if changes.table.pairs is not None or not words:  # by states, a few words are no neighborhood
        return ()
    if find_spec("matplotlib") is None:
        note("the page has no pictures, which need matplotlib; pip install 'firth[plots]'")
        return ()
    return words[:_PICTURES]


def _number(value: float | None, form: str = ".3f") -> str:
    """Return a number as text; an empty one if there is none."""
    return "" if value is None else format(value, form)


def _print(changes: "WordChanges", shown: "list[ChangedWord]") -> None:
    """Print a row per word and period, then sentences, and what was compared."""
    from firth.corpora.common.console import print_table
    from firth.corpora.common.options import as_command_line

    tested, names = changes.table.p is not None, changes.names
    by_states = changes.table.pairs is not None
    bounded, flagged = changes.table.low is not None, any(word.one_document for word in shown)
    stepped, counted = len(names) > 2, len(changes.counts) > 0
    columns = [changes.periods.noun, "distance"]
    columns += ["chance", "p", "q"] * tested + ["pairs"] * by_states + ["95 %"] * bounded
    heads = len(columns)  # the cells of a word, in the row of its first period
    columns += ["period"] + ["count"] * counted + ["step"] * stepped + ["near"] + [""] * flagged
    rows = []
    for word in shown:
        row = [word.word, _number(word.distance)]
        row += [_number(word.chance), *(_number(p, ".2g") for p in (word.p, word.q))] * tested
        row += [_number(word.pairs)] if by_states else []
        row += ["" if word.low is None else f"{word.low:.3f} {word.high:.3f}"] if bounded else []
        steps = ["", *map(_number, word.steps)] if word.steps else [""] * len(names)
        for number, name in enumerate(names):
            row += [name] + [f"{word.counts[number]:,}" if word.counts else ""] * counted
            row += [steps[number]] * stepped
            row += [", ".join(word.neighbors[number])]
            rows.append(row + ["1 document" if word.one_document and not number else ""] * flagged)
            row = [""] * heads
    print_table(columns, rows)
    for missing in filter(None, (word.missing for word in shown)):
        click.echo(as_command_line(missing))
    for word in shown:
        for name, sampled in zip(names, word.lines, strict=True):
            for line in sampled:
                click.echo(
                    f"{word.word} {name}: {line.left} [{line.found}] {line.right} ({line.citation})"
                )
    within = " and ".join(changes.periods.within)
    click.echo(
        f"{len(changes.table):,} {columns[0]}s compared; {changes.n_untested:,} are rarer in a "
        "period" + f"; p is within {within}" * (tested and bool(within))
    )
    if changes.no_p is not None:
        click.echo(f"no p: {as_command_line(changes.no_p)}")
