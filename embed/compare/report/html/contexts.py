"""Words in context for a report: what is nearest to them in their sentences, and in any."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from embed.compare.report.html.escape import Html, escape, join, name, table, tag
from embed.compare.report.html.intervals import Look
from embed.compare.report.html.words import rank_rows
from embed.contextual.in_context import BRACKETED, ContextAnswer
from embed.query.neighbors import Neighbor

Column = tuple[Html, Sequence[Neighbor]]  # with its heading


def show_contexts(
    contexts: Mapping[str, Sequence[ContextAnswer | str] | str],
    neighbors: Mapping[str, Mapping[str, Sequence[Neighbor]]],
    looks: Mapping[str, Look],
) -> Html:
    """Show what is nearest to words in their sentences, and beside it what is in any sentence.

    Parameters
    ----------
    contexts : mapping of str to (sequence of (ContextAnswer or str) or str)
        By run with an encoder; lines tell why there is none, or none of a sentence.
    neighbors : mapping of str to mapping of str to sequence of Neighbor
        By word, then by run: nearest to the one vector that it has there.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        A table for each word: a column for each of its places in sentences, then one for each run.
    """
    every = [
        (run, each)
        for run, found in contexts.items()
        for each in ([found] if isinstance(found, str) else found)
    ]
    told = (tag("p", looks[run].show(), each) for run, each in every if isinstance(each, str))
    answers = [(run, each) for run, each in every if not isinstance(each, str)]
    tables = (
        _table(word, [*columns, *_in_any(neighbors.get(word, {}), looks)])
        for word, columns in _in_sentences(answers, looks).items()
    )
    return join([*told, *tables], "\n")


def _in_sentences(
    answers: Sequence[tuple[str, ContextAnswer]], looks: Mapping[str, Look]
) -> dict[str, list[Column]]:
    """By word, a column for each place where it was marked, for each run."""
    columns: dict[str, list[Column]] = {}
    n_before: Counter[tuple[str, str]] = Counter()
    for run, answer in answers:
        sentence = _sentence(answer.context, n_before[run, answer.context])
        n_before[run, answer.context] += 1
        columns.setdefault(answer.word, []).append((_head(looks[run], sentence), answer.neighbors))
    return columns


def _in_any(
    of_runs: Mapping[str, Sequence[Neighbor]], looks: Mapping[str, Look]
) -> Iterator[Column]:
    """A column for each run in which the word has one vector."""
    for run, near in of_runs.items():
        yield _head(looks[run], tag("small", "in any sentence")), near


def _head(look: Look, below: Html) -> Html:
    """The heading of a column."""
    return tag("span", look.show(), below, class_="sentence")


def _table(word: str, columns: Sequence[Column]) -> Html:
    """A row a rank."""
    caption = tag("span", "Nearest to ", name(word), ", by cosine")
    heads = ("Rank", *(head for head, _ in columns))
    return table(caption, heads, rank_rows([near for _, near in columns]))


def _sentence(context: str, place: int) -> Html:
    """A sentence with one of its marked words; the others without their brackets."""
    # every second part is the group of the regular expression: what was in brackets
    shown = (
        tag("mark", part) if number == 2 * place + 1 else escape(part)
        for number, part in enumerate(BRACKETED.split(context))
    )
    return tag("bdi", *shown)
