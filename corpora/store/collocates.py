"""Collocates: words that stand near a word, or in some documents, more often than elsewhere."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError
from firth.corpora.store.concordance import require_at_least
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import documents_where
from firth.corpora.store.occurrence_kernels import count_around, count_by_group
from firth.corpora.store.search import Hits, Search

_PRIOR = 1000.0  # tokens that the prior counts for
_HALDANE = 0.5  # tokens added to each total of an interval
_FREEDOM = 3  # fewer degrees make intervals longer than coverage needs
_GROUPS = 2000  # of units, counted together, so that memory does not grow with the corpus
_FEWEST = 20  # units of either side
_LEVEL = 0.95


@dataclass(frozen=True)
class Counts:
    """Tokens of each word in a text and in another one; arrays broadcast."""

    near: np.ndarray  # of the word
    n_near: np.ndarray  # of all words
    other: np.ndarray
    n_other: np.ndarray
    prior: np.ndarray  # share of the word in the whole corpus
    n_hits: np.ndarray  # occurrences of the query


_quiet = np.errstate(divide="ignore", invalid="ignore")  # of words that do not occur


@_quiet
def log_odds(c: Counts) -> np.ndarray:
    """Return the difference of log odds with an informative prior (Monroe et al. 2008, eq. 16)."""
    first, second, prior = c.near + _PRIOR * c.prior, c.other + _PRIOR * c.prior, _PRIOR
    rest = c.n_near + prior - first, c.n_other + prior - second
    return np.asarray(np.log(first / rest[0]) - np.log(second / rest[1]))


@_quiet
def z_score(c: Counts) -> np.ndarray:
    """Return the log odds in units of their standard error (the same, equations 20 and 22)."""
    error = np.sqrt(1 / (c.near + _PRIOR * c.prior) + 1 / (c.other + _PRIOR * c.prior))
    return np.asarray(log_odds(c) / error)


@_quiet
def log_likelihood(c: Counts) -> np.ndarray:
    """Return G2 (Dunning 1993), negative for words that are rarer near the query."""
    total = np.asarray(c.near + c.other, dtype=np.float64)
    share = total / (c.n_near + c.n_other)
    found = np.zeros(total.shape)
    for count, size in ((c.near, c.n_near), (c.other, c.n_other)):
        for observed, expected in ((count, size * share), (size - count, size * (1 - share))):
            found += 2 * np.where(observed > 0, observed * np.log(observed / expected), 0.0)
    more = c.near * np.asarray(c.n_other, dtype=np.float64) >= c.other * np.asarray(c.n_near)
    return np.asarray(np.where(more, found, -found))


@_quiet
def log_dice(c: Counts) -> np.ndarray:
    """Return logDice (Rychly 2008): 14 if both words occur only together, 1 less for half of it.

    A query counts once though a word may be near it twice; words that do not occur have 0.
    """
    found = 14 + np.log2(2 * np.minimum(c.near, c.n_hits) / (c.n_hits + c.near + c.other))
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


@_quiet
def ppmi(c: Counts) -> np.ndarray:
    """Return the positive pointwise mutual information, in bits."""
    expected = c.n_near * ((c.near + c.other) / (c.n_near + c.n_other))
    return np.asarray(np.maximum(np.nan_to_num(np.log2(c.near / expected), nan=0.0), 0))


def _log_ratio(*terms: tuple[int, np.ndarray]) -> np.ndarray:
    """Return the sum of signed logs of totals over units of text, with its 95 % interval.

    Half a token is added to each total (Haldane 1956). The variance is that of what each unit adds
    (delta method); the degrees of freedom of the t distribution are the effective number of units,
    by their shares of the variance, less one, and at least 3.
    """
    # terms: int64 (n_units, n_types or 1); returns float64 (3, n_types): value, low and high
    value, parts, added = np.zeros(1), np.zeros((1, 1)), np.zeros(1)
    for sign, counts in terms:
        total = counts.sum(0) + _HALDANE
        value = value + sign * np.log(total)
        parts = parts + sign * counts / total
        added = added + _HALDANE / total**2
    squares, n_units = parts**2, len(parts)
    variance = squares.sum(0)
    n_effective = variance**2 / np.maximum((squares**2).sum(0), np.finfo(float).tiny)
    error = np.sqrt(variance * n_units / max(1, n_units - 1) + added)
    half = stdtrit(np.maximum(n_effective - 1, _FREEDOM), (1 + _LEVEL) / 2) * error
    return np.stack([value, value - half, value + half])


def log_odds_ratio(units: Counts) -> np.ndarray:
    """Return the log odds ratio of two texts, without a prior, with its interval."""
    return _log_ratio(
        (1, units.near), (-1, units.n_near - units.near),
        (-1, units.other), (1, units.n_other - units.other),
    )  # fmt: skip


def log_dice_interval(units: Counts) -> np.ndarray:
    """Return logDice with its interval."""
    more = units.near.sum(0) > units.n_hits.sum(0)
    both = np.where(more, units.n_hits, units.near)
    found = _log_ratio((1, both), (-1, units.n_hits + units.near + units.other))
    return np.minimum(15 + found / math.log(2), 14)


def ppmi_interval(units: Counts) -> np.ndarray:
    """Return positive pointwise mutual information, in bits, with its interval."""
    found = _log_ratio(
        (1, units.near), (-1, units.n_near),
        (-1, units.near + units.other), (1, units.n_near + units.n_other),
    )  # fmt: skip
    return np.maximum(found / math.log(2), 0)


@dataclass(frozen=True)
class Association:
    """A measure of association: what words are sorted by, and what has an interval."""

    score: Callable[[Counts], np.ndarray]
    key: Callable[[Counts], np.ndarray]  # sorts
    interval: Callable[[Counts], np.ndarray]  # of counts by unit of text
    interval_of: str  # the log odds ratio or the score


_RATIO = (log_odds_ratio, "log odds ratio")
MEASURES = {
    "log-odds": Association(log_odds, z_score, *_RATIO),
    "log-likelihood": Association(log_likelihood, log_likelihood, *_RATIO),
    "log-dice": Association(log_dice, log_dice, log_dice_interval, "log-dice"),
    "ppmi": Association(ppmi, ppmi, ppmi_interval, "ppmi"),
}
_TWO_TEXTS = ("log-odds", "log-likelihood")  # measures that compare any two texts


@dataclass(frozen=True)
class Collocate:
    """A word with its counts and score."""

    word: str
    near: int  # tokens near the query, or in the chosen documents
    other: int  # tokens elsewhere, near the other query, or in the other documents
    score: float
    log_odds_ratio: float | None  # with its interval; None if that is of the score
    low: float  # 95 % interval
    high: float


@dataclass(frozen=True, repr=False)
class Collocates(Table):
    """The words of the highest scores, and of the lowest if two texts are compared."""

    measure: str
    rows: list[Collocate]
    lowest: list[Collocate]
    n_near: int  # tokens near the query without punctuation, or of the chosen documents
    n_other: int
    unit: str  # of text, by which intervals are made
    interval_of: str  # log odds ratio, log-dice or ppmi

    _listed = ("rows", "lowest")
    _columns = tuple(Collocate.__dataclass_fields__)


def collocates(
    corpus: Corpus | str | os.PathLike[str],
    query: str | None,
    *,
    measure: str = "log-odds",
    window: int = 5,
    top: int | None = 20,
    min_count: int = 5,
    versus: str | None = None,
    versus_documents: str | None = None,
) -> Collocates:
    """Return the words that stand near a query more often than elsewhere.

    A token near several occurrences counts once, and those of the query do not count. Windows do
    not leave the sentence; punctuation has a place in them, but is not counted. Intervals are
    over documents, so that a word which one document repeats has a wide one; with fewer than 20
    documents on a side, over paragraphs or sentences. Those of log-odds and log-likelihood are
    of the log odds ratio of both texts, without prior: G2 grows with the text, and a score that
    a prior shrinks is not an estimate.

    Parameters
    ----------
    corpus : Corpus, str or path
        All of its documents count. The first use indexes it.
    query : str, optional
        A word or phrase; None with ``versus_documents`` compares all of the text.
    measure : {'log-odds', 'log-likelihood', 'log-dice', 'ppmi'}
        Log-odds with an informative prior (Monroe et al. 2008) are sorted by their z-scores.
    window : int
        Words on each side.
    top : int, optional
        Words to return, all with None; as many of the lowest scores if two texts are compared.
    min_count : int
        Words that are nearer less often are left out; of both texts together if two are compared.
    versus : str, optional
        Compare with the words near this word or phrase instead of with the rest of the corpus;
        the words of both queries are left out.
    versus_documents : str, optional
        ``FIELD=VALUE,...``: compare these documents with the others. A value may be a range of
        numbers or ISO dates, as in ``year=1890-1920`` or ``year=1880-``.

    Returns
    -------
    Collocates
        ``rows`` with the highest scores; if two texts are compared, ``lowest`` with the lowest.

    Raises
    ------
    UnknownWordError
        A word of a query is not in the corpus.
    SettingError
        Options contradict each other, or no document has the field or value.
    """
    _check(query, measure, versus, versus_documents)
    require_at_least(1, window=window, top=top, min_count=min_count)
    comparison = _Comparison(Search(Corpus.open(corpus)), query, window, versus, versus_documents)
    every = comparison.totals()
    counts = comparison.counts(every)
    two = versus is not None or versus_documents is not None
    enough = counts.near + (counts.other if two else 0) >= min_count
    candidates = np.flatnonzero(enough & comparison.is_word & ~comparison.asked)
    keys = MEASURES[measure].key(counts)[candidates]
    order = candidates[np.lexsort((np.arange(len(candidates)), -keys))]
    if two:
        n_positive = int((keys > 0).sum())
        best, worst = order[:n_positive][:top], order[::-1][:top]
        worst = worst[: len(order) - n_positive]
    else:
        best, worst = order[:top], order[:0]
    rows = comparison.scored(np.concatenate([best, worst]), every, MEASURES[measure])
    return Collocates(
        measure, rows[: len(best)], rows[len(best) :],
        int(counts.n_near), int(counts.n_other), comparison.unit, MEASURES[measure].interval_of,
    )  # fmt: skip


def _check(query: str | None, measure: str, versus: str | None, documents: str | None) -> None:
    """Raise if options do not fit together."""
    if measure not in MEASURES:
        raise SettingError(f"`measure={measure}`: expected one of {', '.join(MEASURES)}")
    if versus is not None and documents is not None:
        raise SettingError("`versus` and `versus_documents` exclude each other; pass one of them")
    if query is None and documents is None:
        raise SettingError("pass a word, or `versus_documents` to compare parts of the corpus")
    if (versus is not None or documents is not None) and measure not in _TWO_TEXTS:
        raise SettingError(
            f"`measure={measure}` is of one word; two are compared by {' or '.join(_TWO_TEXTS)}"
        )


class _Comparison:
    """Two texts to be counted: what is near a query, and what it is compared with."""

    def __init__(
        self,
        search: Search,
        query: str | None,
        window: int,
        versus: str | None,
        documents: str | None,
    ) -> None:
        self.search, self.window = search, window
        vocabulary = search.corpus.vocabulary
        self.is_word = ~vocabulary.punctuation
        if vocabulary.is_pruned:
            self.is_word[-1] = False
        chosen = None if documents is None else documents_where(search.corpus, documents)
        hits = None if query is None else search.find(query)
        self._texts: list[tuple[Hits | None, np.ndarray | None]] = [(hits, chosen)]
        self._elsewhere = versus is None and chosen is None
        if versus is not None:
            self._texts.append((search.find(versus), None))
        elif chosen is not None:
            self._texts.append((hits, ~chosen))
        self.n_hits = 0 if hits is None else len(hits)
        # which words two queries are: a query is never near itself, but near the other
        self.asked = np.zeros(len(vocabulary), dtype=bool)
        for occurrences, _ in self._texts if versus is not None else ():
            assert occurrences is not None
            single = occurrences.stops == occurrences.starts + 1
            self.asked[search.take(occurrences.starts[single])] = True
        sides = [search.corpus.n_documents]
        if chosen is not None:
            sides += [int(chosen.sum()), int((~chosen).sum())]
        self.unit = "document"
        if min(sides) < _FEWEST:
            enough = len(search.bounds("paragraph")) > _FEWEST
            self.unit = "paragraph" if enough else "sentence"
        self._starts = search.bounds(self.unit)  # int64 (n_units + 1,)

    def totals(self) -> np.ndarray:
        """Return the counts of all types in both texts, int64 (2, n_types)."""
        n_types = len(self.search.corpus.vocabulary)
        columns = np.where(self.is_word, np.arange(n_types), -1)
        groups = np.zeros(len(self._starts) - 1, dtype=np.int64)
        return self._count(columns, groups, n_types)[:, 0]

    def counts(self, totals: np.ndarray) -> Counts:
        """Return the counts of all types with their totals."""
        near, other = totals
        share = self.search.corpus.vocabulary.counts * self.is_word
        share = share / max(1, share.sum())
        return Counts(near, near.sum(), other, other.sum(), share, np.array(self.n_hits))

    def scored(
        self, types: np.ndarray, totals: np.ndarray, measure: Association
    ) -> list[Collocate]:
        """Return some types with scores and intervals."""
        if not len(types):
            return []
        words = self.search.corpus.vocabulary
        score = measure.score(self.counts(totals))[types]
        ratio, low, high = measure.interval(self._by_unit(types))
        if measure.interval is not log_odds_ratio:
            ratio = np.full(len(types), None)
            low, high = np.minimum(low, score), np.maximum(high, score)
        columns = (each.tolist() for each in (*totals[:, types], score, ratio, low, high))
        return [Collocate(words[n], *row) for n, *row in zip(types.tolist(), *columns, strict=True)]

    def _by_unit(self, types: np.ndarray) -> Counts:
        """Return counts of some types in each unit, or group of units, of the text."""
        n_units, n_chosen = len(self._starts) - 1, len(types)
        groups = np.arange(n_units, dtype=np.int64) % min(_GROUPS, n_units)
        columns = np.where(self.is_word, n_chosen, -1)  # the last column has all other words
        columns[types] = np.arange(n_chosen)
        near, other = self._count(columns, groups, n_chosen + 1)  # int64 (n_groups, n_chosen + 1)
        hits, _ = self._texts[0]
        starts = np.zeros(0, dtype=np.int64) if hits is None else hits.starts
        in_group = np.bincount(groups[self._units_of(starts)], minlength=len(near))
        return Counts(
            near[:, :-1], near.sum(1, keepdims=True), other[:, :-1], other.sum(1, keepdims=True),
            np.zeros(1), in_group[:, None],
        )  # fmt: skip

    def _count(self, columns: np.ndarray, groups: np.ndarray, n_columns: int) -> np.ndarray:
        """Count the types of each column in both texts by groups of units."""
        # columns: int64 (n_types,), -1 if not counted; groups: int64 (n_units,)
        # returns int64 (2, n_groups, n_columns)
        counts = np.zeros((2, int(groups.max()) + 1, n_columns), dtype=np.int64)
        for which, (hits, chosen) in enumerate(self._texts):
            self._add(hits, chosen, columns, groups, counts[which])
        if self._elsewhere:
            self._add(None, None, columns, groups, counts[1])
            counts[1] -= counts[0]
            self._leave_out_hits(columns, groups, counts[1])
        return counts

    def _units_of(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers of the units that hold some positions, int64 (n,)."""
        return np.asarray(np.searchsorted(self._starts, positions, "right") - 1)

    def _leave_out_hits(self, columns: np.ndarray, groups: np.ndarray, counts: np.ndarray) -> None:
        """Subtract the tokens of the query itself."""
        hits, _ = self._texts[0]
        assert hits is not None
        longest = int((hits.stops - hits.starts).max(initial=0))
        inside = [hits.starts[hits.stops > hits.starts + n] + n for n in range(1, longest)]
        own = np.unique(np.concatenate([hits.starts, *inside])) if inside else hits.starts
        column = columns[self.search.take(own)]
        known = column >= 0
        cells = groups[self._units_of(own[known])] * counts.shape[1] + column[known]
        counts -= np.bincount(cells, minlength=counts.size).reshape(counts.shape)

    def _add(
        self,
        hits: Hits | None,
        chosen: np.ndarray | None,
        columns: np.ndarray,
        groups: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        """Add what is near hits, or everything, in the chosen documents."""
        search, first = self.search, 0
        if hits is not None and chosen is not None:
            hits = hits[chosen[search.documents_of(hits.starts)]]
        if chosen is not None:
            groups = np.where(chosen[search.documents_of(self._starts[:-1])], groups, -1)
        for shard, start in search.shards():
            bounds = shard.offsets(self.unit)
            units = groups[first : first + len(bounds) - 1]
            first += len(units)
            if hits is None:
                count_by_group(shard.ids, bounds, units, columns, counts)
                continue
            inside = slice(*np.searchsorted(hits.starts, [start, start + len(shard.ids)]))
            own = hits[inside]
            numbers = self._units_of(own.starts) - (first - len(units))
            count_around(
                shard.ids, shard.offsets("sentence"), own.starts - start, own.stops - start,
                units[numbers], self.window, columns, counts,
            )  # fmt: skip
