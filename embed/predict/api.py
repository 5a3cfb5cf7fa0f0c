"""predict_ratings: numbers for words that have none, from rated words or from opposites."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.options import many, split_list
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import file_and_column
from firth.embed.compare.inputs.lookup import find_words, finite_units
from firth.embed.compare.probes.vector_probes import dense, ridge
from firth.embed.compare.tasks.described_words import RatingsTask
from firth.embed.explore.directions import direction
from firth.embed.protocols import StaticVectors
from firth.embed.resampling.intervals import projection_intervals
from firth.embed.vectors.neighbors import known_word, unit_queries
from firth.embed.vectors.opened import VectorSource, opened

_ERROR = 0.05  # share of words that intervals should miss
_FOLDS = 5
_FEWEST = 30  # words, of which four folds must show an error that is so rare
_CELLS = 1 << 23  # numbers at once


@dataclass(frozen=True)
class PredictedRating:
    """A word with its rating; without an interval, both ends are None."""

    word: str
    rating: float
    low: float | None
    high: float | None


@dataclass(frozen=True, repr=False)
class PredictedRatings(Table):
    """Predicted ratings of words, a row each.

    Attributes
    ----------
    rows : list of PredictedRating
        With 95 % intervals.
    rating : str
        What is predicted.
    intervals : str
        What the intervals are over, and how good they are or why there are none.
    learned_from : int
        Rated words, or pairs of opposites.
    coverage : float or None
        Share of rated words whose rating is within its interval, predicted from the others.
    left_out : list of float
        Of each pair of opposites, the cosine of its difference with the axis of the other pairs.
    p : float or None
        Chance of as many pairs on the right side of that axis; None for one pair.
    """

    rows: list[PredictedRating]
    rating: str
    intervals: str
    learned_from: int
    coverage: float | None = None
    left_out: Sequence[float] = ()
    p: float | None = None
    _listed = ("rows",)


def predict_ratings(
    run: VectorSource,
    ratings: str | os.PathLike[str] | None = None,
    words: str | Sequence[str] = (),
    *,
    axis: str | None = None,
    resamples: int | None = None,
    unit: str | None = None,
    corpora: Sequence[str | Path] = (),
    seed: int = 1,
) -> PredictedRatings:
    """Predict ratings of words, from those of other words or from words of opposite meaning.

    From ratings by ridge regression on unit vectors, with intervals by CV+ (Barber et al. 2021,
    "Predictive inference with the jackknife+"). On an axis, the rating is the cosine with the
    difference of both sides (Grand et al. 2022, "Semantic projection").

    Parameters
    ----------
    run : WordVectors, str or path
        Vectors, a run or a file of vectors.
    ratings : str or path, optional
        A table with a header that names a column of words; ``FILE:COLUMN`` if it has several
        ratings.
    words : str or sequence of str
        Words to predict; by default all of the vocabulary that are not rated, or not of the axis.
        Nothing is learned from the rating that the file has for one of them.
    axis : str, optional
        In place of ratings, words of high and of low rating: ``large,small``, or as many on both
        sides, in pairs: ``huge,large:tiny,small``.
    resamples, unit, corpora
        As of :func:`firth.neighbor_intervals`, for intervals on an axis over texts of the same
        kind; by default they are over the pairs of the axis.
    seed : int
        Seed of the folds.

    Returns
    -------
    PredictedRatings
        A row for each word.

    Raises
    ------
    SettingError
        If there are neither ratings nor an axis, or both, or an axis has no two equal sides.
    SourceError
        If the table is malformed, or rates fewer than 30 of the run's words.
    UnknownWordError
        If a word has no vector.
    """
    vectors = opened(run)
    if (ratings is None) == (axis is None):
        raise SettingError("pass either `ratings` or `axis`")
    asked = [known_word(vectors, word) for word in many(words)]
    if axis is not None:
        return _on_axis(vectors, axis, asked, resamples, unit, corpora)
    if resamples is not None:
        raise SettingError("`resamples` is for an axis; predictions have intervals without it")
    config = CompareConfig(folds=_FOLDS, seed=seed)
    sets = RatingsTask.split(Path(str(ratings)), config)
    if len(sets) > 1:
        columns = [file_and_column(each)[1] for each in sets]
        raise SourceError(
            f"{ratings}: has several ratings: {', '.join(columns)}; name one, as in {sets[0]}"
        )
    task = RatingsTask.read(sets[0], config)
    if task.of_sequences and any(len(vectors.words(each)) > 1 for each in task.words):
        raise SourceError(f"{ratings}: rates sequences; pass ratings of single words or tokens")
    found = find_words(vectors, task.words)
    places = found.places(task.words)
    names, new = _targets(vectors, asked, places)
    own = [-1, *(row for row in map(vectors.row, asked) if row is not None)]
    chosen = ~np.isin(places, own)
    values, folds = np.array(task.values)[chosen], task.numbers[chosen]
    if (n := len(values)) < _FEWEST or len(set(folds.tolist())) < 3:
        raise SourceError(
            f"{ratings}: rates {n} of the vocabulary; at least {_FEWEST} of 3 groups are needed"
        )
    table = dense(finite_units(vectors, places[chosen], found.composed))
    inside = np.empty(n, dtype=bool)
    for fold in np.unique(folds):
        out = folds == fold
        _, low, high = _cv_plus(table[~out], values[~out], folds[~out], table[out])
        inside[out] = (low <= values[out]) & (values[out] <= high)
    columns = [each.tolist() for each in _cv_plus(table, values, folds, new)]
    rows = [PredictedRating(*row) for row in zip(names, *columns, strict=True)]
    share = float(inside.mean())
    intervals = f"95 % prediction intervals by CV+: {share:.1%} of {n:,} ratings are inside"
    return PredictedRatings(rows, task.dataset.rpartition(":")[2], intervals, n, share)


def _cv_plus(
    rows: np.ndarray, values: np.ndarray, folds: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict new rows, with the ends of CV+ intervals (Barber et al. 2021, eq. 1.8)."""
    # rows: float64 (n, D); values: float64 (n,); folds: int64 (n,); new: float64 (m, D)
    n, errors = len(rows), np.empty(len(rows))
    numbers, fold_of = np.unique(folds, return_inverse=True)
    by_fold = np.empty((len(numbers), len(new)))
    for number, fold in enumerate(numbers):
        out = folds == fold
        found = ridge(rows[~out], values[~out], np.concatenate([rows[out], new]))
        errors[out] = np.abs(values[out] - found[: out.sum()])
        by_fold[number] = found[out.sum() :]
    last = min(int(np.ceil((1 - _ERROR) * (n + 1))), n) - 1
    low, high = np.empty((2, len(new)))
    for start in range(0, len(new), _CELLS // n or 1):
        part = slice(start, start + (_CELLS // n or 1))
        centers = by_fold[fold_of, part].T
        low[part] = np.partition(centers - errors, n - 1 - last, axis=1)[:, n - 1 - last]
        high[part] = np.partition(centers + errors, last, axis=1)[:, last]
    return ridge(rows, values, new), low, high


def _on_axis(
    vectors: Any, axis: str, asked: list[str], resamples: int | None, unit: str | None,
    corpora: Sequence[str | Path],
) -> PredictedRatings:  # fmt: skip
    """Return the cosines of words with an axis."""
    from scipy.stats import t

    sides = [split_list(side) for side in (axis.split(":") if ":" in axis else axis.split(","))]
    if len(sides) != 2 or not sides[0] or len(sides[0]) != len(sides[1]):
        raise SettingError(
            f"`axis={axis}`: expected large,small or as many on both sides, in pairs: "
            "huge,large:tiny,small"
        )
    high, low = ([known_word(vectors, word) for word in side] for side in sides)
    found = direction(*(dense(unit_queries(vectors, side)[0]) for side in (low, high)))
    rows = [vectors.row(word) for word in (*low, *high)]
    names, units = _targets(vectors, asked, np.array([-1 if row is None else row for row in rows]))
    n, values = len(high), (units @ found.axis).tolist()
    if resamples is not None:
        drawn = projection_intervals(
            vectors, names, (low, high), resamples=resamples, unit=unit, corpora=corpora
        )
        ends = [(each.low, each.high) for each in drawn]
        intervals = f"95 % intervals over {resamples} resamples of the text"
        if reasons := [each.reason for each in drawn if each.reason]:
            intervals += f"; none of {len(reasons):,}, such as {reasons[0]}"
    elif n > 1:
        others = units @ found.without.T
        spread = np.sqrt((n - 1) * others.var(axis=1)) * t.ppf(1 - _ERROR / 2, n - 1)
        ends = [(v - s, v + s) for v, s in zip(values, spread.tolist(), strict=True)]
        intervals = f"95 % intervals over the {n} pairs of the axis (jackknife)"
    else:
        ends = [(None, None)] * len(names)
        intervals = "no intervals: the axis has one pair; pass more, or `resamples=100`"
    predicted = [PredictedRating(w, v, *e) for w, v, e in zip(names, values, ends, strict=True)]
    left_out = found.left_out.tolist() if n > 1 else []
    return PredictedRatings(predicted, axis, intervals, n, None, left_out, found.p)


def _targets(
    vectors: StaticVectors, asked: list[str], places: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Return words and their unit vectors: those asked for, else all but those at places."""
    if asked:
        return asked, dense(unit_queries(vectors, asked)[0])
    rows = np.setdiff1d(np.arange(len(vectors.vocabulary)), places)
    return [vectors.vocabulary[row] for row in rows.tolist()], dense(finite_units(vectors, rows))
