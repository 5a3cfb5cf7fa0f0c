"""``firth why``: show what makes two words near."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import PATH, Command, count_option, option
from firth.embed.commands.intervals import interval_options, interval_text

if TYPE_CHECKING:
    from firth.embed.explore.why import Why


@click.command("why", cls=Command)
@click.argument("run", type=PATH)
@click.argument("first")
@click.argument("second")
@option(
    "--corpus", type=PATH, help="The corpus of the run, or a folder of corpora, if it was moved."
)
@count_option("--top", 10, "Contexts to show")
@option(
    "--cite",
    metavar="FIELD,...",
    help="Kept fields that say where a sentence is from (default: author, title, year).",
)
@interval_options(corpus=False)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, first: str, second: str, corpus: Path | None, top: int | None,
    resamples: int | None, unit: str | None, cite: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show what makes two words near: the contexts they share, with sentences.

    RUN is a run of train-svd, train-skipgram, train-cbow or train-mlm. Shares are
    of the similarity by contexts, which is shown beside the cosine of the vectors,
    and with --resamples its 95 % interval.

    \b
    Example:
        firth why out/svd sea ocean
        firth why out/svd sea ocean --resamples 100
        firth why out/skipgram sea ocean --corpus out/wiki
    """
    from dataclasses import asdict

    from firth.corpora.common.console import print_json
    from firth.embed.explore.why import why_near
    from firth.embed.query.prompt import find_word
    from firth.embed.vectors.word_vectors import WordVectors

    vectors = WordVectors.open(run)
    words = [find_word(vectors, word) for word in (first, second)]
    found = why_near(run, *words, corpus=corpus, top=top, cite=cite)
    ends: dict[str, Any] = {}
    if resamples is not None:
        from firth.embed.resampling.intervals import similarity_intervals  # compiles kernels

        [interval] = similarity_intervals(
            vectors, *words, resamples=resamples, unit=unit, corpora=[corpus] if corpus else []
        )
        ends = {"low": interval.low, "high": interval.high, "reason": interval.reason}
    print_json(asdict(found) | ends) if as_json else _print(found, ends)


def _print(found: "Why", ends: dict[str, Any]) -> None:
    """Print a row per context, then its sentences."""
    from firth.corpora.common.console import print_table

    rows = [
        (each.context, f"{each.first:.3f}", f"{each.second:.3f}", f"{each.share:.1%}")
        for each in found.contexts
    ]
    print_table(["context", *found.words, "share"], rows, title=f"{found.measure} of contexts")
    for each in found.contexts:
        for line in filter(None, each.lines):
            parts = line.left, click.style(line.found, bold=True), line.right
            click.echo(f"{each.context}: {' '.join(parts).strip()} ({line.citation})")
    shown = sum(each.share for each in found.contexts)
    cosine = f"cosine {found.cosine:.3f}{interval_text(ends)}"
    click.echo(
        f"{cosine}; by contexts alone {found.by_contexts:.3f}, of which these make {shown:.1%}"
    )
