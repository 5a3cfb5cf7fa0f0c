"""Intervals of cosines, and how sure the nearest words are, over texts of the same kind."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table, TableList
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import many
from firth.corpora.store.concordance import require_at_least
from firth.embed.formats.vector_files import load_vectors
from firth.embed.resampling.draws import WIDENED, CountDraws, errors_of
from firth.embed.resampling.prepared import prepare
from firth.embed.resampling.scores import (
    Score,
    Scored,
    added,
    cosines,
    errors_and_shares,
    multiplied,
)
from firth.embed.resampling.trained_draws import trained_draws
from firth.embed.vectors.neighbors import (
    METHODS,
    NeighborLists,
    analogy,
    known_word,
    nearest,
    similarity,
    vector_of,
)
from firth.embed.vectors.search import unit_matrix
from firth.embed.vectors.word_vectors import WordVectors

CANDIDATES = 100  # best words of a run, of which others may be among the k best of another text
STABLE = 0.9  # share of other texts from which on a neighbor is stable
ENTERS = 0.25  # share of other texts from which on a word outside the list is named
FEWEST_TOKENS = 100  # of a word and its neighbor, below which the nearest are mostly chance
FEWEST_UNITS = 5  # with a word, below which they say too little of it
_FEWEST_GROUPS, _MOST_GROUPS = 20, 1000
_NORMAL = 1.96  # standard deviations of a 95 % interval
_ROUNDING = 1e-6  # errors of float32: a zero vector is one without any group, too


@dataclass(frozen=True)
class CosineInterval:
    """A cosine with what the text says of it.

    Attributes
    ----------
    value : float
        The cosine of the run, or a difference of two.
    low, high : float or None
        The ends of the 95 % interval; None without one.
    reason : str or None
        Why there is no interval.
    """

    value: float
    low: float | None
    high: float | None
    reason: str | None = None


@dataclass(frozen=True)
class NeighborInterval:
    """A word near to another, and how sure that is.

    Attributes
    ----------
    word : str
        The neighbor.
    score : float
        The cosine, or the score of the analogy method.
    low, high : float or None
        The ends of the 95 % interval, which is lower than around the score, since words are listed
        for high scores; None without one.
    share : float or None
        Of simulated other texts in which it is among the k best.
    rank : int
        By the score, from 1.
    reason : str or None
        Why there is no interval.
    """

    word: str
    score: float
    low: float | None
    high: float | None
    share: float | None
    rank: int
    reason: str | None = None

    @property
    def stable(self) -> bool:
        """Whether it is among the k best in at least 90 % of simulated other texts."""
        return self.share is not None and self.share >= STABLE


@dataclass(frozen=True, repr=False)
class NeighborIntervals(Table):
    """The nearest words of a word, or the answers to an analogy, and those that may be among them.

    Attributes
    ----------
    words : list of str
        The query.
    neighbors : list of NeighborInterval
        The k best.
    entrants : list of NeighborInterval
        Words beyond them that are among the k best in a quarter of these texts or more.
    n_units : list of float
        Units in which each word of the query occurs, as if all had equally many of its tokens.
    unit : str
        What the text was divided into.
    resamples : int
        Texts that were drawn: groups of units that were left out, or trainings.
    """

    words: list[str]
    neighbors: list[NeighborInterval]
    entrants: list[NeighborInterval]
    n_units: list[float]
    unit: str
    resamples: int
    _listed = ("neighbors", "entrants")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)


def neighbor_intervals(
    run: WordVectors | str | Path,
    words: str | Sequence[str],
    k: int = 10,
    *,
    resamples: int = 100,
    seed: int = 1,
    unit: str | None = None,
    corpora: Sequence[str | Path] = (),
) -> list[NeighborIntervals]:
    """Find the nearest words of some words, with intervals of their cosines.

    Documents are divided at random into groups. Without each group in turn, the counts of a word
    are added up again and folded into the space of the run, whose contexts are held fixed (the
    delete-a-group jackknife). An interval is 1.96 standard deviations on each side of the cosine,
    less what is expected of words that are listed for high cosines.

    Parameters
    ----------
    run : WordVectors, str or Path
        A run of ``train-svd``, whose corpus is read, or one that was trained with ``--resamples``.
    words : str or sequence of str
        Words of the vocabulary.
    k : int
        Neighbors per word, at most 50.
    resamples : int
        Groups, 20 or more. Of a run that was trained with ``--resamples`` all draws are used.
    seed : int
        Seed of the groups, which are the same for all words.
    unit : {"document", "paragraph", "sentence"}, optional
        What is grouped; by default documents, or paragraphs or sentences if documents are fewer
        than 20.
    corpora : sequence of str or Path
        Where the corpus is, if it was moved.

    Returns
    -------
    list of NeighborIntervals
        One for each word.

    Raises
    ------
    SettingError
        If the run has no draws of its own and is of another method, or has too little text.
    ArtifactError
        If the corpus is not found, or has changed.
    UnknownWordError
        If a word has no vector.
    """
    words = many(words)
    opened = _Opened(run, k, resamples, seed, unit, corpora)
    if not words:
        return NeighborLists([], [])
    queries = [[known_word(opened.vectors, word)] for word in words]
    best = nearest(opened.vectors, [word for [word] in queries], max(k, CANDIDATES))
    return NeighborLists(words, opened.described(queries, best, k, cosines))


def analogy_intervals(
    run: WordVectors | str | Path,
    a: str,
    b: str,
    c: str,
    k: int = 10,
    method: str = METHODS[0],
    *,
    resamples: int = 100,
    seed: int = 1,
    unit: str | None = None,
    corpora: Sequence[str | Path] = (),
) -> NeighborIntervals:
    """Answer "a is to b as c is to which word?", with intervals of the scores.

    Parameters
    ----------
    run
        As of :func:`firth.neighbor_intervals`.
    a, b, c, k, method
        As of :func:`firth.analogy`.
    resamples, seed, unit, corpora
        As of :func:`firth.neighbor_intervals`.

    Returns
    -------
    NeighborIntervals
        The answers.
    """
    opened = _Opened(run, k, resamples, seed, unit, corpora)
    words = [known_word(opened.vectors, word) for word in (a, b, c)]
    best = analogy(opened.vectors, words[0], words[1], words[2], max(k, CANDIDATES), method)
    score = added if method == METHODS[0] else multiplied
    [answer] = opened.described([words], [best], k, score)
    return answer


def similarity_intervals(
    run: WordVectors | str | Path,
    a: str,
    others: str | Sequence[str],
    *,
    resamples: int = 100,
    seed: int = 1,
    unit: str | None = None,
    corpora: Sequence[str | Path] = (),
) -> list[CosineInterval]:
    """Compute the cosine of a word with others; of two, also the difference.

    Parameters
    ----------
    run
        As of :func:`firth.neighbor_intervals`.
    a : str
        A word.
    others : str or sequence of str
        One word or two.
    resamples, seed, unit, corpora
        As of :func:`firth.neighbor_intervals`.

    Returns
    -------
    list of CosineInterval
        A cosine for each of ``others``, and of two the first less the second, paired over the
        groups.
    """
    opened = _Opened(run, 1, resamples, seed, unit, corpora)
    words = [known_word(opened.vectors, word) for word in (a, *many(others))]
    if not 2 <= len(words) <= 3:
        raise SettingError(f"pass one word or two to compare {a!r} with, got {len(words) - 1}")
    [rows] = opened.rows([words])
    pairs = np.array([(rows[0], row) for row in rows[1:]])
    found = [similarity(opened.vectors, words[0], word) for word in words[1:]]
    away = opened.draws.deviations(opened.draws.cosines(pairs))
    asked = [(found[n], away[n], pair) for n, pair in enumerate(pairs.tolist())]
    if len(found) == 2:
        asked.append((found[0] - found[1], away[0] - away[1], rows))
    return TableList(
        opened.interval(value, deviations, occurring, limit=2.0 if occurring is rows else 1.0)
        for value, deviations, occurring in asked
    )


def projection_intervals(
    run: WordVectors | str | Path, words: Sequence[str], sides: Sequence[Sequence[str]], *,
    resamples: int, unit: str | None = None, corpora: Sequence[str | Path] = (),
) -> list[CosineInterval]:  # fmt: skip
    """Return the cosine of each word with the axis from one side to the other."""
    opened = _Opened(run, 1, resamples, 1, unit, corpora)
    draws, matrix = opened.draws, opened.vectors.matrix
    first, second, asked = opened.rows([*sides, words])
    drawn = {  # float32 (1 + J, D): a vector of the run, and those of the draws
        row: np.vstack([unit_matrix(matrix, np.array([row])), draws.vectors(row)])
        for row in {*first, *second, *asked}
    }
    axes = unit_matrix(sum(drawn[row] for row in second) - sum(drawn[row] for row in first))
    answers = TableList()
    for row in asked:
        value, *found = (drawn[row] * axes).sum(axis=1).tolist()
        deviations = draws.deviations(np.array(found))
        answers.append(opened.interval(value, deviations, [row, *first, *second]))
    return answers


def covariances(
    run: WordVectors | str | Path, words: Sequence[str], axes: np.ndarray, *,
    resamples: int, unit: str | None = None, corpora: Sequence[str | Path] = (),
) -> list[np.ndarray | None]:  # fmt: skip
    """Return how unit vectors of words would vary along axes; None of words in too few units."""
    # axes: float64 (D, n); returns float64 (n, n) for each word
    opened = _Opened(run, 1, resamples, 1, unit, corpora)
    answers: list[np.ndarray | None] = []
    for [row] in opened.rows([[word] for word in words]):
        away = opened.draws.deviations((opened.draws.vectors(row) @ axes).T)
        error = float(errors_of(opened.draws.fewest, away.ravel()))
        answers.append(None if opened.reason(error, row) else away @ away.T)
    return answers


class _Opened:
    """A run whose text can be resampled."""

    def __init__(
        self, run: WordVectors | str | Path, k: int, resamples: int, seed: int, unit: str | None,
        corpora: Sequence[str | Path],
    ) -> None:  # fmt: skip
        require_at_least(1, k=k)
        require_at_least(_FEWEST_GROUPS, resamples=resamples)
        if resamples > _MOST_GROUPS:
            raise SettingError(f"`resamples` must be at most {_MOST_GROUPS:,}, got {resamples:,}")
        require_at_least(0, seed=seed)
        if k > CANDIDATES // 2:
            raise SettingError(f"k must be at most {CANDIDATES // 2} with `resamples`, got {k}")
        self.vectors = run if isinstance(run, WordVectors) else load_vectors(run)
        self.draws = trained_draws(self.vectors, unit) or CountDraws(
            prepare(self.vectors, corpora, unit), self.vectors.matrix, resamples, seed
        )
        self._seed = seed
        self.spread = cache(self.draws.spread)

    def reason(self, error: float, *rows: int) -> str | None:
        """Return why there is no interval of a value that some words have; None if there is one."""
        for row in rows:
            word, n, spread = self.vectors.vocabulary[row], self.draws.tokens(row), self.spread(row)
            if n < FEWEST_TOKENS:
                return f"{word}: {n} tokens"
            if spread < FEWEST_UNITS:
                return f"{word}: {spread:.1f} {self.draws.unit}s"
        named = " and ".join(self.vectors.vocabulary[row] for row in rows)
        if np.isnan(error):
            return f"{named}: few {self.draws.unit}s decide"
        return f"{named}: no two texts differ" if error <= _ROUNDING else None

    def interval(
        self, value: float, deviations: np.ndarray, rows: Sequence[int], limit: float = 1.0
    ) -> CosineInterval:
        """Return the interval of a value that some words have, or why it has none."""
        error = float(errors_of(self.draws.fewest, deviations))
        reason = self.reason(error, *rows)
        low, high = (None, None) if reason else _bounds(value, error, limit)
        return CosineInterval(value, low, high, reason)

    def rows(self, queries: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the rows of words; raise if one has none."""
        found = []
        for words in queries:
            rows = [self.vectors.row(word) for word in words]
            for word, row in zip(words, rows, strict=True):
                if row is None:
                    vector_of(self.vectors, word)  # raises if it cannot be composed either
                    raise SettingError(
                        f"{self.vectors.name}: {word!r} is not in the vocabulary, so it has no "
                        "interval"
                    )
            found.append([row for row in rows if row is not None])
        return found

    def described(
        self, queries: Sequence[list[str]], best: Sequence[Any], k: int, score: Score
    ) -> list[NeighborIntervals]:
        """Resample the best words of each query, and describe those."""
        rows = self.rows(queries)
        candidates = self.rows([[word for word, _ in each] for each in best])
        scores = np.array([[value for _, value in each] for each in best])
        scored = Scored(np.array(rows), np.array(candidates), scores)
        errors, shares = errors_and_shares(self.draws, scored, k, self._seed, score)
        limit = 1.0 if score is cosines else np.inf
        few = scores.shape[1] <= k  # all words are listed
        lower = np.zeros(scores.shape) if few else excess(scores, errors)
        answers = []
        for n, words in enumerate(queries):
            near = []
            for place, (word, value) in enumerate(best[n]):
                occurring = (*rows[n], candidates[n][place])
                error, shift = float(errors[n, place]), float(lower[n, place])
                reason = self.reason(error, *occurring)
                if few:
                    reason = f"{word}: all are listed"
                elif reason is None and shift >= _NORMAL * error:
                    reason = f"{word}: the {self.draws.unit}s differ too much"
                if reason:
                    near.append(NeighborInterval(word, value, None, None, None, place + 1, reason))
                    continue
                bounds = _bounds(value - shift, error, limit)
                share = float(shares[n, place])
                near.append(NeighborInterval(word, value, *bounds, share, place + 1))
            entrants = [each for each in near[k:] if (each.share or 0) >= ENTERS]
            answers.append(
                NeighborIntervals(
                    words, near[:k], sorted(entrants, key=lambda each: -(each.share or 0)),
                    [self.spread(row) for row in rows[n]], self.draws.unit, self.draws.n_draws,
                )
            )  # fmt: skip
        return answers


def excess(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return how much too high scores are, since words are listed for having high ones.

    By Tweedie's formula (Efron 2011, "Tweedie's formula and selection bias") that is the variance
    times the slope of the logarithm of the density of scores, of which the best have the tail of an
    exponential distribution.
    """
    # scores, errors: float64 (q, C), the best first; returns the same shape
    means = (scores - scores[:, -1:])[:, :-1].mean(axis=1, keepdims=True)
    return np.asarray((errors / WIDENED) ** 2 / np.maximum(means, 1e-6))


def _bounds(value: float, error: float, limit: float) -> tuple[float, float]:
    """Return the ends of an interval, within the limits of the value."""
    return max(value - _NORMAL * error, -limit), min(value + _NORMAL * error, limit)
