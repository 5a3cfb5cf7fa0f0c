"""``firth analogy``: find the word that is to C as B is to A."""

import json
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import PATH, Command, option
from firth.embed.commands.intervals import interval_options


@click.command("analogy", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[A B C]")
@option(
    "--method",
    type=click.Choice(["3cosadd", "3cosmul"]),
    default="3cosadd",
    help="Add and subtract cosines, or multiply and divide them.",
)
@option("-k", default=10, help="Answers per question.")
@option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@interval_options(excludes=["--add-contexts"])
@option("--skip-unknown", is_flag=True, help="Note words without a vector and continue.")
@option("--json", "as_json", is_flag=True, help="Print JSON; from a pipe, an object per line.")
def command(
    run: Path,
    words: tuple[str, ...],
    method: str,
    k: int,
    add_contexts: bool,
    skip_unknown: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Find the word that is to C as B is to A.

    RUN is a run directory, a vectors file or a Hugging Face folder. Without A,
    B and C, questions are read from standard input, three words per line. A, B
    and C are excluded from the answers. If RUN has n-grams or pieces, words
    outside its vocabulary are composed from them; answers come from the
    vocabulary.

    \b
    Example:
        firth analogy out/svd man king woman
        firth analogy out/svd france paris japan --method 3cosmul -k 3
        firth analogy out/svd man king woman --resamples 100
    """
    from firth.corpora.common.console import padded, print_json
    from firth.embed.commands.intervals import print_intervals
    from firth.embed.formats.vector_files import load_vectors
    from firth.embed.query.prompt import answer_each, find_words
    from firth.embed.vectors.context_vectors import with_contexts
    from firth.embed.vectors.neighbors import Neighbor, analogy

    if len(words) not in (0, 3):
        raise click.UsageError(f"expected A B C, got {len(words)}")
    vectors = with_contexts(run) if add_contexts else load_vectors(run)

    def answer(query: list[str], json_lines: bool = True) -> None:
        a, b, c = find_words(vectors, query, skip_unknown=skip_unknown)
        if sampling["resamples"] is not None and a is not None and b is not None and c is not None:
            from firth.embed.resampling.intervals import analogy_intervals  # compiles kernels

            intervals = analogy_intervals(vectors, a, b, c, k, method, **sampling)
            if not as_json:
                print_intervals(intervals, f"{a} : {b} = {c} : ?")
            else:
                said = intervals.to_json()
                click.echo(json.dumps(said, ensure_ascii=False)) if json_lines else print_json(said)
            return
        answers: list[Neighbor] = []
        if a is not None and b is not None and c is not None:
            answers = analogy(vectors, a, b, c, k, method)
        if as_json:
            shown = [{"word": word, "score": score} for word, score in answers]
            names = {"a": a or query[0], "b": b or query[1], "c": c or query[2]}
            result = {**names, "answers": shown}
            click.echo(json.dumps(result, ensure_ascii=False)) if json_lines else print_json(result)
            return
        for rank, (word, score) in enumerate(answers, 1):
            click.echo(f"{a} : {b} = {c} : ?  {rank:>3}  {padded(word, 20)} {score:7.4f}")

    if words:
        answer(list(words), json_lines=False)
    else:
        answer_each("A B C> ", 3, answer)
