"""Map typed words to words with vectors, for the query commands."""

import io
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from firth.corpora.common.console import padded
from firth.corpora.common.errors import FirthError, UnknownWordError
from firth.corpora.common.reporting import note
from firth.corpora.text.segment import LONE_SURROGATE
from firth.corpora.text.spelling import did_you_mean
from firth.embed.vectors.neighbors import Neighbor, vector_of
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import noun_of


def find_word(vectors: WordVectors, query: str) -> str:
    """Find the vocabulary word for a typed word, with a note if another form was found."""
    if LONE_SURROGATE.search(query):
        raise UnknownWordError(f"{vectors.name}: {query!r} is not UTF-8; pass UTF-8")
    words = vectors.words(query)
    if len(words) != 1:
        noun = noun_of(vectors)
        apart = f"{len(words)} {noun}s ({' '.join(words)})" if words else f"no {noun}"
        raise UnknownWordError(
            f"{vectors.name}: {query!r} is {apart} under this run's text settings; "
            f"{did_you_mean(query, vectors.vocabulary, f'pass single {noun}s')}"
        )
    row = vectors.row(words[0])
    if row is None:
        vector_of(vectors, words[0])  # raises if there is none
    if words[0] != query:
        looks_same = unicodedata.normalize("NFC", query) == unicodedata.normalize("NFC", words[0])
        form = " in another Unicode normal form" if looks_same else ""
        note(f"{query!r} is read as {words[0]!r}{form}")
    if row is None:
        made_of = vectors.composed_of
        note(f"{words[0]!r} is not in the vocabulary; its vector is composed of its {made_of}")
    return words[0]


def print_neighbors(word: str, neighbors: Sequence[Neighbor]) -> None:
    """Print a line per neighbor."""
    for rank, (other, cosine) in enumerate(neighbors, 1):
        print(f"{padded(word, 16)} {rank:>3}  {padded(other, 20)} {cosine:7.4f}")


def find_words(
    vectors: WordVectors, queries: Sequence[str], *, skip_unknown: bool
) -> list[str | None]:
    """Find the vocabulary words for several typed words; None for skipped ones."""
    found: list[str | None] = []
    for text in queries:
        try:
            found.append(find_word(vectors, text))
        except UnknownWordError as error:
            if not skip_unknown:
                raise UnknownWordError(f"{error} (`skip_unknown=True` skips it)") from None
            note(f"skipped: {error}")
            found.append(None)
    return found


def split_query(line: str) -> list[str]:
    """Split a line of standard input into query words."""
    if "\t" in line:
        return [cell for cell in line.rstrip("\r\n").split("\t") if cell]
    return line.split()


def read_queries(n_words: int | None = None) -> Iterator[list[str]]:
    """Read queries from standard input, one per line; blank lines are skipped."""
    for number, line in enumerate(_utf8(sys.stdin), 1):
        query = split_query(line)
        if not query:
            continue
        if n_words is not None and len(query) != n_words:
            raise FirthError(
                f"<stdin>:{number}: expected {n_words}, got {len(query)} ({' '.join(query)})"
            )
        yield query


def prompt(question: str, answer: Callable[[list[str]], None], n_words: int | None = None) -> None:
    """Prompt repeatedly; errors are printed and do not end the session."""
    note("end with an empty line or Ctrl-D")
    while query := split_query(_ask(question)):
        try:
            if n_words is not None and len(query) != n_words:
                raise FirthError(f"expected {n_words}, got {len(query)}")
            answer(query)
        except FirthError as error:
            note(str(error))


def answer_each(question: str, n_words: int, answer: Callable[[list[str]], None]) -> None:
    """Answer queries of a fixed number of words, from a terminal or a pipe."""
    if at_terminal():
        prompt(question, answer, n_words)
        return
    for query in read_queries(n_words):
        answer(query)


def at_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def _utf8(stream: TextIO) -> TextIO:
    """Return standard input as UTF-8 in any locale; find_word reports invalid bytes."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    return stream


def _ask(question: str) -> str:
    """Read one line from the terminal; empty at its end."""
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - gives input() its line editing and history
    try:
        return input(question)
    except (EOFError, KeyboardInterrupt):
        note("")
        return ""
