"""Measure vectors without evaluation sets: each run alone, and every pair of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import BASELINES, make_baselines
from firth.embed.compare.intrinsic.geometry import (
    PairCosines,
    neighbor_overlap,
    partition_ratio,
    procrustes_distance,
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
_LEAST_WORDS = 20  # with fewer, half of all words would be neighbors
_DRAWS = "intrinsic"  # name that seeds the bootstrap draws of words
_TOO_WIDE = "no more words than dimensions"
_EQUAL_COSINES = "all cosines are equal"


@dataclass(frozen=True)
class Measure:
    """One intrinsic measure of one run, or of the agreement of two."""

    runs: tuple[str, ...]  # a run, ``one-hot`` or ``random``; two of these for an agreement
    metric: str  # one of PROPERTIES, or of AGREEMENTS
    words: int  # number of words measured
    score: float | None = None  # None if undefined
    low: float | None = None  # 95 % bootstrap interval over words; None if undefined
    high: float | None = None
    reason: str | None = None  # why the score is undefined
    word: str | None = None  # the word of ``largest_hub``


@dataclass(frozen=True)
class Geometry:
    """All intrinsic measures of the runs of a comparison."""

    properties: list[Measure]  # run by run, in the order of PROPERTIES
    agreements: list[Measure]  # pair by pair, in the order of AGREEMENTS
    words: int  # number of words measured
    zero: int = 0  # words left out because their vector is zero in some run
    failures: list[str] = field(default_factory=list)  # why runs could not be measured


def measure_geometry(
    runs: Mapping[str, StaticVectors], config: CompareConfig, n_words: int = 2_000
) -> Geometry:
    """Measure the geometry and agreement of runs on their most frequent shared words."""
    given = {name: run for name, run in runs.items() if name not in BASELINES}
    words = shared_words(list(given.values()), n_words)
    by_run: dict[str, SharedVectors] = {}
    failures: list[str] = []
    for name, vectors in given.items():
        try:
            by_run[name] = SharedVectors.of(vectors, words)
        except ArtifactError as error:  # measure the other runs
            failures.append(f"intrinsic: {error}")
    nonzero = np.all([np.ones(len(words)), *(run.lengths > 0 for run in by_run.values())], axis=0)
    kept = [words[index] for index in np.flatnonzero(nonzero).tolist()]
    zero, n_words = len(words) - len(kept), len(kept)
    if n_words < _LEAST_WORDS:
        reason = f"{n_words} shared words with nonzero vectors; at least {_LEAST_WORDS} are needed"
        names = [*by_run, *config.baseline_names]
        properties = [
            Measure((name,), metric, n_words, reason=reason)
            for name, metric in product(names, PROPERTIES)
        ]
        agreements = [
            Measure(two, metric, n_words, reason=reason)
            for two, metric in product(combinations(names, 2), AGREEMENTS)
        ]
        return Geometry(properties, agreements, n_words, zero, failures)
    if zero:
        by_run = {name: SharedVectors.of(given[name], kept) for name in by_run}
    words_only = WordVectors(kept, np.empty((n_words, 0), np.float32))
    made = make_baselines([words_only], [], n_words, config.seed)
    by_run |= {name: SharedVectors.of(made[name], kept) for name in config.baseline_names}
    counts = draw_counts(n_words, config.replicates, config.seed, _DRAWS)
    properties = [
        _measure((name,), metric, statistic, kept, counts)
        for name, run in by_run.items()
        for metric, statistic in _of_run(run).items()
    ]
    agreements = [
        _measure((a, b), metric, statistic, kept, counts)
        for a, b in combinations(by_run, 2)
        for metric, statistic in _of_two(by_run[a], by_run[b]).items()
    ]
    return Geometry(properties, agreements, n_words, zero, failures)


def _measure(
    runs: tuple[str, ...],
    metric: str,
    statistic: Statistic | np.ndarray | str,
    words: Sequence[str],
    counts: Counts,
) -> Measure:
    """Return a score and its interval, the largest of a number by word, or why it is undefined."""
    undefined = Measure(runs, metric, len(words))
    if isinstance(statistic, str):
        return replace(undefined, reason=statistic)
    if isinstance(statistic, np.ndarray):  # a maximum has no interval
        hub = int(statistic.argmax())
        return replace(undefined, score=float(statistic[hub]), word=words[hub])
    resampled = resample(statistic, counts)
    low, high = (None if np.isnan(end) else end for end in interval(resampled))
    return replace(undefined, score=resampled.score, low=low, high=high)


def _of_run(run: SharedVectors) -> dict[str, Statistic | np.ndarray | str]:
    """Return what is measured of one run, or reasons why it is undefined."""
    times = _EQUAL_COSINES if run.near is None else run.near.sum(axis=0)
    return {
        "mean_cosine": PairCosines(run.units),
        "isotropy": _TOO_WIDE if run.wide else partition_ratio(run.units),
        "hubness": times if isinstance(times, str) else _hubness(times),
        "largest_hub": times,
        "length_frequency": _length_frequency(run),
    }


def _hubness(times: np.ndarray) -> Statistic | str:
    """Return the skewness of how often words are neighbors of others."""
    return skewness(times) if np.ptp(times) else "all words are neighbors equally often"


def _length_frequency(run: SharedVectors) -> Statistic | str:
    """Return the rank correlation of frequency and vector length."""
    if same_length(run.lengths):
        return "all vectors have the same length"
    if not np.ptp(run.frequencies):
        return "all words are equally frequent"
    return Correlation(run.frequencies, run.lengths, ranked=True)


def _of_two(a: SharedVectors, b: SharedVectors) -> dict[str, Statistic | np.ndarray | str]:
    """Return the statistics of two runs' agreement, or reasons why they are undefined."""
    return {
        "neighbors": (
            _EQUAL_COSINES
            if a.near is None or b.near is None
            else Means(neighbor_overlap(a.near, b.near))
        ),
        "procrustes": _TOO_WIDE if a.wide or b.wide else procrustes_distance(a.units, b.units),
    }
