"""Measure vectors without evaluation sets: each run alone, and every pair of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import ONE_HOT, RANDOM, make_baselines
from firth.embed.compare.intrinsic.agreement import neighbor_overlap, procrustes_distance
from firth.embed.compare.intrinsic.geometry import (
    PairCosines,
    neighborhoods,
    partition_ratio,
    same_length,
    skewness,
)
from firth.embed.compare.intrinsic.shared_words import SharedVectors, shared_words
from firth.embed.compare.statistics.bootstrap import draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Correlation, Counts, Means, Statistic
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.word_vectors import WordVectors

PROPERTIES = ("mean_cosine", "isotropy", "hubness", "largest_hub", "length_frequency")
AGREEMENTS = ("neighbors", "procrustes")
_NEIGHBORS = 10
_LEAST_WORDS = 20  # with fewer, half of all words would be neighbors
_DRAWS = "intrinsic"  # name that seeds the bootstrap draws of words
_TOO_WIDE = "no more words than dimensions"
_EQUAL_COSINES = "all cosines are equal"


@dataclass(frozen=True, kw_only=True)
class Property:
    """One intrinsic measure of one run."""

    run: str  # the run, ``one-hot`` or ``random``
    metric: str  # one of PROPERTIES
    score: float | None  # None if undefined
    low: float | None  # 95 % bootstrap interval over words; None if undefined
    high: float | None
    words: int  # number of words measured
    reason: str | None = None  # why the score is undefined
    word: str | None = None  # the word of ``largest_hub``


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One measure of agreement between two runs."""

    a: str
    b: str
    metric: str  # one of AGREEMENTS
    score: float | None  # None if undefined
    low: float | None  # 95 % bootstrap interval over words; None if undefined
    high: float | None
    words: int  # number of words measured
    reason: str | None = None  # why the score is undefined


@dataclass(frozen=True)
class Geometry:
    """All intrinsic measures of the runs of a comparison."""

    properties: list[Property]  # run by run, in the order of PROPERTIES
    agreements: list[Agreement]  # pair by pair, in the order of AGREEMENTS
    words: int  # number of words measured
    zero: int = 0  # words left out because their vector is zero in some run
    failures: list[str] = field(default_factory=list)  # why runs could not be measured


def measure_geometry(
    runs: Mapping[str, StaticVectors], config: CompareConfig, n_words: int = 2_000
) -> Geometry:
    """Measure the geometry of every run and the agreement of every two runs.

    On the ``n_words`` most frequent words shared by all runs, without zero vectors.
    """
    given = {name: run for name, run in runs.items() if name not in (ONE_HOT, RANDOM)}
    words = shared_words(list(given.values()), n_words)
    by_run: dict[str, SharedVectors] = {}
    failures: list[str] = []
    for name, vectors in given.items():
        try:
            by_run[name] = SharedVectors.of(vectors, words)
        except ArtifactError as error:  # measure the other runs
            failures.append(f"intrinsic: {error}")
    kept = _without_zeros(words, list(by_run.values()))
    zero = len(words) - len(kept)
    if len(kept) < _LEAST_WORDS:
        names = [*by_run, *config.baseline_names]
        return Geometry(*_too_few(names, len(kept)), zero, failures)
    if zero:
        by_run = {name: SharedVectors.of(given[name], kept) for name in by_run}
    by_run |= _baselines(kept, config)
    counts = draw_counts(len(kept), config.replicates, config.seed, _DRAWS)
    return Geometry(*_measure(by_run, kept, counts), zero, failures)


def _without_zeros(words: Sequence[str], runs: Sequence[SharedVectors]) -> list[str]:
    """Return the words with a nonzero vector in every run."""
    nonzero = np.ones(len(words), dtype=bool)
    for run in runs:
        nonzero &= run.lengths > 0
    return [words[index] for index in np.flatnonzero(nonzero).tolist()]


def _baselines(words: Sequence[str], config: CompareConfig) -> dict[str, SharedVectors]:
    """Return one-hot and random vectors of these words."""
    words_only = WordVectors(words, np.empty((len(words), 0), np.float32))
    made = make_baselines([words_only], [], len(words), config.seed)
    return {name: SharedVectors.of(made[name], words) for name in config.baseline_names}


def _too_few(names: Sequence[str], n_words: int) -> tuple[list[Property], list[Agreement], int]:
    """Return undefined measures with one reason."""
    nothing = _undefined(
        f"{n_words} shared words with nonzero vectors; at least {_LEAST_WORDS} are needed", n_words
    )
    return (
        [Property(run=name, metric=metric, **nothing) for name in names for metric in PROPERTIES],
        [
            Agreement(a=a, b=b, metric=metric, **nothing)
            for a, b in combinations(names, 2)
            for metric in AGREEMENTS
        ],
        n_words,
    )


def _measure(
    by_run: Mapping[str, SharedVectors], words: Sequence[str], counts: Counts
) -> tuple[list[Property], list[Agreement], int]:
    """Measure every run, then every pair of runs."""
    near = {name: neighborhoods(shared.units, _NEIGHBORS) for name, shared in by_run.items()}
    properties = []
    for name, shared in by_run.items():
        for metric, statistic in _run_statistics(shared, near[name]).items():
            numbers = _numbers(statistic, counts)
            properties.append(Property(run=name, metric=metric, **numbers))
            if metric == "hubness":
                properties.append(_largest_hub(name, near[name], words))
    agreements = [
        Agreement(a=a, b=b, metric=metric, **_numbers(statistic, counts))
        for a, b in combinations(by_run, 2)
        for metric, statistic in _pair_statistics(
            (by_run[a], by_run[b]), (near[a], near[b])
        ).items()
    ]
    return properties, agreements, len(words)


def _numbers(statistic: Statistic | str, counts: Counts) -> dict[str, Any]:
    """Return score and interval, or the reason why they are undefined."""
    n_words = counts.shape[1]
    if isinstance(statistic, str):
        return _undefined(statistic, n_words)
    resampled = resample(statistic, counts)
    low, high = (None if np.isnan(end) else end for end in interval(resampled))
    return {"score": resampled.score, "low": low, "high": high, "words": n_words}


def _undefined(reason: str, n_words: int) -> dict[str, Any]:
    """Return undefined numbers with a reason."""
    return {"score": None, "low": None, "high": None, "words": n_words, "reason": reason}


def _run_statistics(shared: SharedVectors, near: np.ndarray | None) -> dict[str, Statistic | str]:
    """Return the statistics of one run, or reasons why they are undefined."""
    return {
        "mean_cosine": PairCosines(shared.units),
        "isotropy": _TOO_WIDE if shared.wide else partition_ratio(shared.units),
        "hubness": _hubness(near),
        "length_frequency": _length_frequency(shared),
    }


def _hubness(near: np.ndarray | None) -> Statistic | str:
    """Return the skewness of how often words are neighbors of others."""
    if near is None:
        return _EQUAL_COSINES
    times = near.sum(axis=0)
    return skewness(times) if np.ptp(times) else "all words are neighbors equally often"


def _largest_hub(name: str, near: np.ndarray | None, words: Sequence[str]) -> Property:
    """Return the word that is a neighbor most often; a maximum, so it has no interval."""
    if near is None:
        return Property(run=name, metric="largest_hub", **_undefined(_EQUAL_COSINES, len(words)))
    times = near.sum(axis=0)
    hub = int(times.argmax())
    return Property(
        run=name,
        metric="largest_hub",
        score=float(times[hub]),
        low=None,
        high=None,
        words=len(words),
        word=words[hub],
    )


def _length_frequency(shared: SharedVectors) -> Statistic | str:
    """Return the rank correlation of frequency and vector length."""
    if same_length(shared.lengths):
        return "all vectors have the same length"
    if not np.ptp(shared.frequencies):
        return "all words are equally frequent"
    return Correlation(shared.frequencies, shared.lengths, ranked=True)


def _pair_statistics(
    pair: tuple[SharedVectors, SharedVectors],
    near: tuple[np.ndarray | None, np.ndarray | None],
) -> dict[str, Statistic | str]:
    """Return the statistics of two runs' agreement, or reasons why they are undefined."""
    (a, b), (near_a, near_b) = pair, near
    return {
        "neighbors": (
            _EQUAL_COSINES
            if near_a is None or near_b is None
            else Means(neighbor_overlap(near_a, near_b))
        ),
        "procrustes": _TOO_WIDE if a.wide or b.wide else procrustes_distance(a.units, b.units),
    }
