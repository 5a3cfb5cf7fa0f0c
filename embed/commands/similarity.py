"""``firth similarity``: print the cosine of two words."""

import json
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import PATH, Command, option
from firth.embed.commands.intervals import interval_options, interval_text


@click.command("similarity", cls=Command)
@click.argument("run", type=PATH)
@click.argument("words", nargs=-1, metavar="[A B [C]]")
@option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@interval_options(excludes=["--add-contexts"])
@option("--skip-unknown", is_flag=True, help="Note words without a vector and continue.")
@option("--json", "as_json", is_flag=True, help="Print JSON; from a pipe, an object per line.")
def command(
    run: Path,
    words: tuple[str, ...],
    add_contexts: bool,
    skip_unknown: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Print the cosine of two words, or those of A with B and with C.

    With --resamples they have intervals, and so has the difference of two cosines.
    RUN is a run directory, a vectors file or a Hugging Face folder. Without A
    and B, pairs are read from standard input, one per line. If RUN has n-grams
    or pieces, words outside its vocabulary are composed from them.

    \b
    Example:
        firth similarity out/svd king queen
        firth similarity out/svd king queen france --resamples 100
        firth similarity out/svd --json < pairs.txt
    """
    from firth.corpora.common.console import padded, print_json
    from firth.embed.formats.vector_files import load_vectors
    from firth.embed.query.prompt import answer_each, find_words
    from firth.embed.vectors.context_vectors import with_contexts
    from firth.embed.vectors.neighbors import similarity

    if len(words) not in (0, 2, 3):
        raise click.UsageError(f"expected A B or A B C, got {len(words)}")
    vectors = with_contexts(run) if add_contexts else load_vectors(run)

    def cosines(words: list[str]) -> list[dict[str, Any]]:
        """Return the cosines of the first word with the others, and the difference of two."""
        if sampling["resamples"] is None:
            found = [similarity(vectors, words[0], other) for other in words[1:]]
            found += [found[0] - found[1]] if len(found) == 2 else []
            return [{"cosine": each} for each in found]
        from firth.embed.resampling.intervals import similarity_intervals  # compiles kernels

        return [
            {"cosine": each.value, "low": each.low, "high": each.high, "reason": each.reason}
            for each in similarity_intervals(vectors, words[0], words[1:], **sampling)
        ]

    def answer(query: list[str], json_lines: bool = True) -> None:
        found = find_words(vectors, query, skip_unknown=skip_unknown)
        known = [word for word in found if word is not None]
        values = cosines(known) if len(known) == len(query) else []
        if as_json:
            names = [word or text for word, text in zip(found, query, strict=True)]
            result = _as_object(names, values)
            click.echo(json.dumps(result, ensure_ascii=False)) if json_lines else print_json(result)
            return
        for other, value in zip([*known[1:], ""], values, strict=False):
            first = known[0] if other else "difference"
            numbers = f"{value['cosine']:7.4f}{interval_text(value)}"
            click.echo(f"{padded(first, 16)} {padded(other, 16)} {numbers}")

    if words:
        answer(list(words), json_lines=False)
    else:
        answer_each("A B> ", 2, answer)


def _as_object(names: list[str], values: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the cosines as a JSON object; null if a word was skipped."""
    missing: dict[str, Any] = {"cosine": None}
    first, second, difference = [*values, missing, missing, missing][:3]
    a, b, *c = names
    result: dict[str, Any] = {"a": a, "b": b, **first}
    if c:
        result |= {"c": {"word": c[0], **second}, "difference": difference}
    return result
