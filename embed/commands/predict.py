"""``firth predict``: predict ratings of words from rated words, or place words on an axis."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.embed.commands.intervals import interval_options


@click.command("predict", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[RATINGS] [WORD]...")
@option(
    "--axis",
    metavar="HIGH,LOW",
    help="In place of RATINGS, two words of opposite meaning, or as many on both sides, in pairs: "
    "huge,large:tiny,small.",
)
@interval_options()
@option(
    "--seed", type=click.IntRange(min=0), default=1, help="Seed of the folds.", excludes=["--axis"]
)
@option("--csv", "as_csv", is_flag=True, help="Print CSV.", group=OUTPUT, excludes=["--json"])
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    run: Path, words: tuple[str, ...], axis: str | None, as_csv: bool, as_json: bool, **options: Any
) -> None:
    """Predict ratings of words from rated words, or place words on an axis.

    RATINGS is a table, separated by tabs or commas, whose header names a column
    of words and one of numbers; of several numbers, FILE:COLUMN names one. Without
    WORDs all words of RUN are predicted that have no rating. Printed as lines with
    tabs: the word, its rating and the ends of a 95 % interval. How many ratings of
    left-out words are within such intervals is measured, and reported.

    \b
    Example:
        firth predict out/svd ratings.tsv > predicted.tsv
        firth predict out/svd glasgow_norms.csv:Valence sea ship
        firth predict out/svd --axis king,man:queen,woman ship sea --resamples 20
    """
    from firth.corpora.common.console import print_csv, print_json
    from firth.corpora.common.reporting import note
    from firth.embed.predict.api import predict_ratings

    if axis is None and not words:
        raise click.UsageError("pass RATINGS or --axis")
    ratings, asked = (words[0], words[1:]) if axis is None else (None, words)
    found = predict_ratings(run, ratings, asked, axis=axis, **options)
    if as_json:
        print_json(asdict(found))
        return
    columns = ["word", found.rating, "low", "high"]
    rows = [
        [r.word, *("" if v is None else f"{v:.4g}" for v in (r.rating, r.low, r.high))]
        for r in found.rows
    ]
    if as_csv:
        print_csv(columns, rows)
    else:
        for row in (columns, *rows):
            click.echo("\t".join(row))
    note(found.intervals)
    if found.p is not None:
        right = sum(cosine > 0 for cosine in found.left_out)
        note(f"{right} of {found.learned_from} pairs lie along the others' axis (p {found.p:.2g})")
