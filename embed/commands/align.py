"""``firth align``: map one space of vectors into another."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.options import click_options
from firth.embed.align.config import AlignConfig


@click.command("align", cls=Command)
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@option(
    "--dictionary",
    type=PATH,
    metavar="FILE",
    help="Pairs to map by, a word of A and one of B a line; by default all shared words.",
)
@option(
    "--test",
    type=PATH,
    metavar="FILE",
    help="Pairs to test by, whose words of A are not used for the map.",
)
@click_options(AlignConfig)
@option("--out", type=PATH, help="The run to make.", group=OUTPUT)
@option(
    "--suffixes",
    metavar="A,B",
    help="Write the words of both spaces to --out, marked so: de,en for king@de and king@en.",
    group=OUTPUT,
)
@option("--force", is_flag=True, help="Overwrite the run at --out.", group=OUTPUT)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    a: Path,
    b: Path,
    dictionary: Path | None,
    test: Path | None,
    out: Path | None,
    suffixes: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Map the vectors of A into the space of B.

    A and B are run directories, vectors files or Hugging Face folders, for
    example of two languages or of two texts. The map is linear and learned from
    pairs of words: all words that both have, or those of a --dictionary in the
    form of MUSE. A part of the words is held out, and the table shows how often
    a right partner is the nearest, or among the 5 nearest, by cosine and by CSLS,
    which subtracts how near a word of B is to all of A. --out makes a run of A in
    the space of B, or with --suffixes of both.

    \b
    Example:
        firth align out/svd-1990 out/svd-2020 --out out/svd-1990-in-2020
        firth align out/de out/en --dictionary de-en.txt --method vecmap \\
            --suffixes de,en --out out/both
        firth neighbors out/both könig@de
    """
    from firth.corpora.artifacts.artifact import refuse_existing
    from firth.corpora.common.console import print_json
    from firth.corpora.common.options import split_list, take
    from firth.embed.align.api import align_vectors, check_output
    from firth.embed.vectors.wordlist import noun_of

    config = take(AlignConfig, options)
    marks = None if suffixes is None else split_list(suffixes)
    if out is None and (marks is not None or force):
        raise click.UsageError(f"--{'force' if marks is None else 'suffixes'} needs --out")
    if out is not None:
        refuse_existing(out, force)
        check_output(out, (a, b), config.method, marks)
    aligned = align_vectors(a, b, config, dictionary=dictionary, test=test)
    if out is not None:
        aligned.save(out, suffixes=marks, force=force)
    if as_json:
        print_json(aligned.to_json())
    else:
        _print(aligned.to_json(), noun_of(aligned.a))
        if out is not None:
            click.echo(f"{out}: {'both spaces' if marks else 'A in the space of B'}")


def _print(found: dict[str, Any], noun: str) -> None:
    """Print precision and intervals, and how many pairs there were."""
    from firth.corpora.common.console import bare, print_table

    for name in ("dictionary", "test"):
        if name in found:
            click.echo(_dictionary_line(found[name]))
    pairs = found["pairs"]
    if found["precision"]:
        rows: dict[str, list[str]] = {}
        for each in found["precision"]:
            low, high = (each[end] for end in ("low", "high"))
            within = "" if low is None else f" [{bare(low)} {bare(high)}]"
            rows.setdefault(each["retrieval"], []).append(f"{bare(each['score'])}{within}")
        names = {"cosine": "cosine", "csls": "CSLS"}
        columns = ["retrieval", "precision at 1", "precision at 5"]
        print_table(columns, [[names[name], *cells] for name, cells in rows.items()])
        plural = "s" * (pairs["held_out_words"] != 1)
        click.echo(
            f"{pairs['held_out_words']:,} held-out {noun}{plural}, searched among "
            f"{pairs['searched']:,} {noun}s of B; 95 % bootstrap intervals"
        )
    else:
        click.echo("no pairs were held out, so there is no precision")
    click.echo(f"{found['mapping']} by {pairs['used']:,} pairs")


def _dictionary_line(counts: dict[str, Any]) -> str:
    """Return what became of the lines of a dictionary."""
    dropped = [
        f"{counts[name]:,} {what}"
        for name, what in (
            ("unknown_a", "without a vector in A"),
            ("unknown_b", "without one in B"),
            ("repeated", "repeated"),
        )
        if counts[name]
    ]
    end = f" ({', '.join(dropped)})" if dropped else ""
    return f"{counts['path']}: {counts['pairs']:,} pairs of {counts['lines']:,} lines{end}"
