"""Occurrences of words in each period."""

from collections.abc import Sequence

from firth.corpora.common.errors import SettingError
from firth.corpora.store.concordance import Line, lines_of
from firth.corpora.store.search import Hits, Search
from firth.embed.change.periods import Periods

_WIDTH = 8  # words on each side


def sentences_of(
    periods: Periods, words: Sequence[str], n: int, seed: int, cite: str | None = None
) -> list[list[list[Line]]]:
    """Return up to ``n`` random occurrences of each word in each period."""
    if not n:
        return [[[] for _ in periods.names] for _ in words]
    if not periods.corpora:
        raise SettingError("`lines` needs a text, which vectors do not have; leave it out")
    searches = [Search(corpus) for corpus in periods.corpora]
    numbers = range(len(periods.names))
    return [
        [
            lines_of(searches[corpus], hits.sample(n, seed), _WIDTH, cite)
            for corpus, hits in (hits_in(periods, searches, word, each) for each in numbers)
        ]
        for word in words
    ]


def hits_in(
    periods: Periods, searches: Sequence[Search], word: str, period: int
) -> tuple[int, Hits]:
    """Return which corpus a period is in, and the occurrences of a word in the period."""
    if len(searches) > 1:
        return period, searches[period].of_word(word)
    hits = searches[0].of_word(word)
    return 0, hits[periods.period_of[searches[0].documents_of(hits.starts)] == period]
