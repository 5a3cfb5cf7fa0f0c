"""``firth map``: draw the first two principal components of words' vectors."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from firth.corpora.common.command import PATH, Command, option
from firth.embed.commands.intervals import interval_options

if TYPE_CHECKING:
    from firth.embed.query.word_map import WordMap


@click.command("map", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@option(
    "--words-from",
    "file",
    type=PATH,
    metavar="FILE",
    help="Read words from a file: one per line, word TAB group, or a set of categories.",
)
@option("--plot", type=PATH, metavar="FILE", help="Draw a .png or .svg file.")
@option("--force", is_flag=True, needs="--plot", help="Overwrite the file at --plot.")
@option("--skip-unknown", is_flag=True, help="Note words without a vector and continue.")
@interval_options()
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path,
    words: tuple[str, ...],
    file: Path | None,
    plot: Path | None,
    force: bool,
    skip_unknown: bool,
    resamples: int | None,
    unit: str | None,
    corpora: list[Path],
    as_json: bool,
) -> None:
    """Draw the first two principal components of words' vectors.

    RUN is a run directory, a vectors file or a Hugging Face folder. Vectors are
    scaled to unit length and centered; the share of variance that the two
    components explain is printed. Words of the same group have the same color.
    Without --plot and --json, a table lists the coordinates. With --resamples each
    word has an ellipse, where it would be in 95 % of texts of the same kind.

    \b
    Example:
        firth map out/svd france paris italy rome spain madrid --plot map.svg
        firth map out/svd sea ocean ship bank --resamples 100 --plot moves.svg
        firth map out/svd --words-from animals-and-verbs.tsv --plot map.png
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.console import print_json
    from firth.corpora.common.reporting import note
    from firth.embed.compare.datasets.categories import read_groups
    from firth.embed.formats.vector_files import load_vectors
    from firth.embed.query.map_picture import draw_map
    from firth.embed.query.prompt import find_words
    from firth.embed.query.word_map import map_words
    from firth.embed.vectors.wordlist import note_join, noun_of

    if bool(words) == (file is not None):
        raise click.UsageError("pass either WORDs or --words-from FILE")
    if plot is not None:  # before any work
        picture_kind(plot)
        refuse_overwrite(plot, force)
    queries = [(word, None) for word in words] if file is None else read_groups(file)
    vectors = load_vectors(run)
    known = find_words(vectors, [word for word, _ in queries], skip_unknown=skip_unknown)
    chosen = [(w, group) for w, (_, group) in zip(known, queries, strict=True) if w is not None]
    note_join(len(chosen), len(known), f"{noun_of(vectors)}s are in {run}")
    word_map = map_words(
        vectors, [word for word, _ in chosen], [group for _, group in chosen],
        resamples=resamples, unit=unit, corpora=corpora,
    )  # fmt: skip
    if plot is not None:
        draw_map(word_map, plot, title=str(run), force=force)
        note(f"{plot}: {_summary(word_map)}")
    if as_json:
        print_json(word_map.to_json(str(run)))
    elif plot is None:
        _print(word_map)


def _summary(word_map: "WordMap") -> str:
    """Return the number of words and the share of variance that the map shows."""
    first, second = word_map.share
    return (
        f"{len(word_map.words)} {word_map.noun}s; two components explain {first + second:.1%} of "
        f"the variance ({first:.1%} and {second:.1%})"
    )


def _print(word_map: "WordMap") -> None:
    """Print a row per word."""
    from firth.corpora.common.console import print_table

    columns = {word_map.noun: list(word_map.words)}
    columns |= {name: [f"{z:7.3f}" for z in word_map.places[:, n]] for n, name in enumerate("xy")}
    if any(group is not None for group in word_map.groups):
        columns["group"] = [group or "" for group in word_map.groups]
    if word_map.ellipses:
        halves = (each.half_axes if each else () for each in word_map.ellipses)
        columns["95 %, half-axes"] = [" ".join(f"{z:.3f}" for z in each) for each in halves]
    print_table(list(columns), list(zip(*columns.values(), strict=True)))
    click.echo(_summary(word_map))
