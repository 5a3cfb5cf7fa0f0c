"""``firth neighbors``: print the nearest neighbors of words by cosine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import PATH, Command, option
from firth.embed.commands.intervals import interval_options


@click.command("neighbors", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@option("-k", default=10, help="Neighbors per word.")
@option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@option(
    "--approximate",
    is_flag=True,
    excludes=["--context", "--add-contexts"],
    help="Search by the index of firth index, which may miss some; JSON then has its recall.",
)
@option("--skip-unknown", is_flag=True, help="Note words without a vector and continue.")
@option(
    "--context",
    "contexts",
    multiple=True,
    excludes=["--add-contexts", "--skip-unknown"],
    metavar="TEXT",
    help="Query the words in [brackets] in the context of this text; repeatable.",
)
@option(
    "--layers",
    metavar="LAYERS",
    needs="--context",
    help="With --context, layers to average, for example 0,1; by default those of RUN's vectors.",
)
@interval_options(excludes=["--approximate", "--add-contexts", "--context"])
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path,
    words: tuple[str, ...],
    k: int,
    add_contexts: bool,
    approximate: bool,
    skip_unknown: bool,
    contexts: tuple[str, ...],
    layers: str | None,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Print the nearest neighbors of words by cosine.

    RUN is a run directory, a vectors file or a Hugging Face folder. Without
    WORDs they are read from standard input; words from a pipe are answered in
    one pass. If RUN has n-grams or pieces, words outside its vocabulary are
    composed from them. If it has an encoder, --context queries words in their
    context. With --resamples the cosines have intervals, and a neighbor is stable
    if it would be among the K nearest in 90 % of texts of the same kind.

    \b
    Example:
        firth neighbors out/svd king paris -k 5
        firth neighbors out/svd --json < words.txt
        firth neighbors out/svd king --resamples 100
        firth neighbors out/svd king --approximate
        firth neighbors out/mlm --context "I [saw] a man with a [saw]"
    """
    from firth.corpora.common.reporting import note
    from firth.embed.formats.vector_files import load_vectors
    from firth.embed.query.index import open_index
    from firth.embed.query.prompt import at_terminal, find_words, prompt, read_queries
    from firth.embed.vectors.context_vectors import with_contexts

    if contexts and words:
        raise click.UsageError("--context cannot be combined with WORDs")
    prompted = not (words or contexts) and at_terminal()
    queries = list(words)
    if not (words or contexts or prompted):
        queries = [word for query in read_queries() for word in query]
    vectors = with_contexts(run) if add_contexts else load_vectors(run)
    index = open_index(vectors) if approximate else None
    if index is not None:
        number, recall = index.recall_for(k)
        note(
            f"approximate: {recall:.1%} of the {number:,} nearest are found, by the sample "
            "of firth index"
        )

    def answer(query: list[str]) -> None:
        found = [w for w in find_words(vectors, query, skip_unknown=skip_unknown) if w is not None]
        words = list(dict.fromkeys(found))
        if sampling["resamples"] is None:
            _print(vectors, words, k, as_json, index)
        else:
            _print_intervals(vectors, words, k, as_json, sampling)

    if contexts:
        _print_in_context(run, vectors, contexts, k, layers, as_json)
    elif prompted:
        prompt("neighbors of> ", answer)
    else:
        answer(queries)


def _print(vectors: Any, words: list[str], k: int, as_json: bool, index: Any) -> None:
    """Print the neighbors of distinct words, searched by an index if there is one."""
    from firth.corpora.common.console import print_json
    from firth.embed.query.prompt import print_neighbors
    from firth.embed.vectors.neighbors import nearest

    found = nearest(vectors, words, k) if index is None else index.nearest(words, k)
    answers = dict(zip(words, found, strict=True))
    if as_json:
        objects = {word: _as_objects(neighbors) for word, neighbors in answers.items()}
        print_json(
            objects if index is None else {"recall": index.recall_for(k)[1], "neighbors": objects}
        )
        return
    for word, neighbors in answers.items():
        print_neighbors(word, neighbors)


def _print_intervals(
    vectors: Any, words: list[str], k: int, as_json: bool, sampling: dict[str, Any]
) -> None:
    """Print the neighbors of distinct words with intervals."""
    from firth.corpora.common.console import print_json
    from firth.embed.commands.intervals import print_intervals
    from firth.embed.resampling.intervals import neighbor_intervals

    found = neighbor_intervals(vectors, words, k, **sampling)
    if as_json:
        print_json({word: each.to_json() for word, each in zip(words, found, strict=True)})
        return
    for word, each in zip(words, found, strict=True):
        print_intervals(each, word)


def _print_in_context(
    run: Path, vectors: Any, contexts: Sequence[str], k: int, layers: str | None, as_json: bool
) -> None:
    """Print the neighbors of bracketed words, numbered if there are several."""
    from firth.corpora.common.console import print_json
    from firth.embed.contextual.in_context import nearest_in_context
    from firth.embed.query.prompt import print_neighbors

    answers = nearest_in_context(run, vectors, contexts, k, layers=layers)
    if as_json:
        print_json(
            [
                {"context": a.context, "word": a.word, "neighbors": _as_objects(a.neighbors)}
                for a in answers
            ]
        )
        return
    for number, a in enumerate(answers, 1):
        print_neighbors(f"{a.word} [{number}]" if len(answers) > 1 else a.word, a.neighbors)


def _as_objects(neighbors: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return neighbors as JSON objects."""
    return [{"neighbor": other, "cosine": cosine} for other, cosine in neighbors]
