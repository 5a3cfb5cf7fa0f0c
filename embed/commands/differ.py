"""``firth differ``: sort words by how much their neighborhoods differ between two runs."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, count_option, option

if TYPE_CHECKING:
    from firth.embed.explore.differ import Differing

_SHOWN = 5  # neighbors of each run in the table


@click.command("differ", cls=Command)
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@option("--words", metavar="WORD,...", help="Show these words only.", group="Shown words")
@count_option("--top", 20, "Words to show", excludes=["--words"], group="Shown words")
@option("-k", default=25, help="Neighbors in each run.", group="Shown words")
@option(
    "--min-count",
    default=1,
    help="Leave out words with fewer tokens in A or B.",
    group="Shown words",
)
@option(
    "--permutations",
    default=20,
    help="How often the text is dealt out to measure chance, at least 5, with two trainings each; "
    "0 for no p.",
)
@option(
    "--corpus",
    "corpora",
    multiple=True,
    type=PATH,
    metavar="CORPUS",
    help="The corpus of A or B, or a folder of corpora, if it was moved; repeatable.",
)
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    excludes=["--permutations 0"],
    help="Seed of dealing out the text.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
@option("--csv", "as_csv", is_flag=True, help="Print CSV.", group=OUTPUT, excludes=["--json"])
def command(
    a: Path, b: Path, words: str | None, as_json: bool, as_csv: bool, **options: Any
) -> None:
    """Sort words by how much their neighborhoods differ between two runs.

    A and B are run directories, vectors files or Hugging Face folders. The
    distance compares a word's cosines with its nearest neighbors in both. Rare
    words differ by chance, so p is the probability of a distance as large by
    chance, compared with the word's own, and q is p corrected for the number of
    words (false discovery rate). Chance is measured by training --permutations times
    two runs on random parts of the text: the documents of both corpora mixed, or,
    if there is one corpus, halves of it. This needs the corpora, and runs of
    train-svd, train-skipgram or train-cbow; otherwise there is no p. "1 document"
    marks words that have half of their tokens in a single document.

    \b
    Example:
        firth differ out/svd-1990 out/svd-2020
        firth differ out/svd out/skipgram --words bank,cell --permutations 0
    """
    from firth.corpora.common.console import print_csv, print_json
    from firth.corpora.common.options import split_list
    from firth.corpora.common.reporting import note
    from firth.embed.explore.differ import DifferingWord, differ

    asked = None if words is None else split_list(words)
    differing = differ(a, b, words=asked, **options)
    if as_json:
        print_json({"a": str(a), "b": str(b), **differing.to_json()})
    elif as_csv:
        if differing.no_chance is not None:
            note(f"no p: {differing.no_chance}")
        columns = [field.name for field in dataclasses.fields(DifferingWord)]
        rows = [[getattr(word, name) for name in columns] for word in differing.words]
        rows = [[int(cell) if isinstance(cell, bool) else cell for cell in row] for row in rows]
        print_csv(columns, [[*row[:-2], *map(" ".join, row[-2:])] for row in rows])
    else:
        _print(differing)


def _print(differing: "Differing") -> None:
    """Print a row per word, and what the numbers are."""
    from firth.corpora.common.console import print_table
    from firth.corpora.common.options import as_command_line

    tested = differing.no_chance is None
    flagged = any(word.one_document for word in differing.words)
    columns = [differing.noun, "count A", "count B", "distance"]
    columns += ["chance", "p", "q"] if tested else ["usual"]
    rows = []
    for word in differing.words:
        counts = ["" if n is None else f"{n:,}" for n in (word.count_a, word.count_b)]
        numbers = zip((word.chance, word.p, word.q), (".3f", ".2g", ".2g"), strict=True)
        by_chance = numbers if tested else [(word.usual, ".3f")]
        names = [", ".join(near[:_SHOWN]) for near in (word.only_a, word.only_b)]
        names += ["1 document" if word.one_document else ""] * flagged
        rows.append([word.word, *counts, f"{word.distance:.3f}"])
        rows[-1] += ["" if n is None else format(n, form) for n, form in by_chance] + names
    print_table([*columns, "near in A only", "near in B only"] + [""] * flagged, rows)
    click.echo(f"{differing.n_shared:,} shared {differing.noun}s, {differing.k} neighbors each")
    if differing.no_chance is not None:
        click.echo(f"no p: {as_command_line(differing.no_chance)}")
