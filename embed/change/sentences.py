"""Occurrences of words in each period."""

from collections.abc import Sequence

from corpora.store.concordance import Line, lines_of
from corpora.store.search import Search
from embed.change.periods import Periods

_WIDTH = 8  # words on each side


def sentences_of(
    periods: Periods, words: Sequence[str], n: int, seed: int
) -> list[list[list[Line]]]:
    """Return up to ``n`` random occurrences of each word in each period."""
    if not n:
        return [[[] for _ in periods.names] for _ in words]
    searches = [Search(corpus) for corpus in periods.corpora]
    return [
        [_lines(periods, searches, word, number, n, seed) for number in range(len(periods.names))]
        for word in words
    ]


def _lines(
    periods: Periods, searches: Sequence[Search], word: str, number: int, n: int, seed: int
) -> list[Line]:
    """Return occurrences of a word in one period."""
    if len(searches) > 1:
        hits = searches[number].of_word(word)
        return lines_of(searches[number], hits.sample(n, seed), _WIDTH)
    hits = searches[0].of_word(word)
    inside = periods.period_of[searches[0].documents_of(hits.starts)] == number
    return lines_of(searches[0], hits[inside].sample(n, seed), _WIDTH)
