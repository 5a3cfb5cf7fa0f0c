"""``firth similarity``: print the cosine of two words."""

import json
from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, option
from firth.corpora.common.memory import memory_option


@click.command("similarity", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[A B]")
@option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@memory_option
@option("--skip-unknown", is_flag=True, help="Note words without a vector and continue.")
@option("--json", "as_json", is_flag=True, help="Print JSON; from a pipe, an object per line.")
def command(
    run: Path,
    words: tuple[str, ...],
    add_contexts: bool,
    memory: str | None,
    skip_unknown: bool,
    as_json: bool,
) -> None:
    """Print the cosine of two words.

    RUN is a run directory, a vectors file or a Hugging Face folder. Without A
    and B, pairs are read from standard input, one per line. If RUN has n-grams
    or pieces, words outside its vocabulary are composed from them.

    \b
    Example:
        firth similarity out/svd king queen
        firth similarity out/svd --json < pairs.txt
    """
    from firth.corpora.common.console import padded, print_json
    from firth.embed.query.opening import open_queried
    from firth.embed.query.prompt import answer_each, find_words
    from firth.embed.vectors.neighbors import similarity

    if len(words) not in (0, 2):
        raise click.UsageError(f"expected two words, got {len(words)}")
    vectors = open_queried(run, add_contexts=add_contexts, memory=memory)

    def answer(query: list[str], json_lines: bool = True) -> None:
        a, b = find_words(vectors, query, skip_unknown=skip_unknown)
        cosine = None if a is None or b is None else similarity(vectors, a, b)
        if as_json:
            result = {"a": a or query[0], "b": b or query[1], "cosine": cosine}
            click.echo(json.dumps(result, ensure_ascii=False)) if json_lines else print_json(result)
        elif a is not None and b is not None:
            click.echo(f"{padded(a, 16)} {padded(b, 16)} {cosine:7.4f}")

    if words:
        answer(list(words), json_lines=False)
    else:
        answer_each("two words> ", 2, answer)
