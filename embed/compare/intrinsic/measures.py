"""Measure vectors without any evaluation set, each run alone and every two against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from corpora.common.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.compare.inputs.baselines import ONE_HOT, RANDOM, make_baselines
from embed.compare.intrinsic.agreement import neighbor_overlap, procrustes_distance
from embed.compare.intrinsic.geometry import (
    PairCosines,
    neighborhoods,
    partition_ratio,
    same_length,
    skewness,
)
from embed.compare.intrinsic.shared_words import Cloud, shared_words
from embed.compare.statistics.bootstrap import draw_counts, interval, resample
from embed.compare.statistics.estimators import Correlation, Counts, Means, Statistic
from embed.protocols import StaticVectors
from embed.vectors.word_vectors import WordVectors

PROPERTIES = ("mean_cosine", "isotropy", "hubness", "largest_hub", "length_frequency")
AGREEMENTS = ("neighbors", "procrustes")
_NEIGHBORS = 10
_LEAST_WORDS = 20  # with fewer, half of all words are neighbors
_DRAWS = "intrinsic"  # what the draws of words are keyed by
_TOO_WIDE = "not more words than dimensions"
_EQUAL_COSINES = "all cosines are equal"


@dataclass(frozen=True, kw_only=True)
class Property:
    """What one run's vectors are like in one respect."""

    run: str  # the run, ``one-hot`` or ``random``
    metric: str  # one of PROPERTIES
    score: float | None  # none where it is undefined
    low: float | None  # 95 % bootstrap interval over words; None where there is none
    high: float | None  # 95 % bootstrap interval over words; None where there is none
    words: int  # on how many words it is measured
    reason: str | None = None  # why the score is undefined
    word: str | None = None  # of ``largest_hub``, the word


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How much two runs agree in one respect."""

    a: str  # the runs
    b: str  # the runs
    metric: str  # one of AGREEMENTS
    score: float | None  # none where it is undefined
    low: float | None  # 95 % bootstrap interval over words; None where there is none
    high: float | None  # 95 % bootstrap interval over words; None where there is none
    words: int  # on how many words it is measured
    reason: str | None = None  # why the score is undefined


@dataclass(frozen=True)
class Geometry:
    """All intrinsic measures of some runs."""

    properties: list[Property]  # run by run, in the order of PROPERTIES
    agreements: list[Agreement]  # pair by pair, in the order of AGREEMENTS
    words: int  # words that all is measured on
    zero: int = 0  # words left out because their vector is zero in some run
    # why runs could not be measured, a line each
    failures: list[str] = field(default_factory=list)


def measure_geometry(
    runs: Mapping[str, StaticVectors], config: CompareConfig, n_words: int = 2_000
) -> Geometry:
    """Measure how vectors lie in their space, and how far every two runs agree.

    All is measured on the same words, those of
    :func:`~embed.compare.intrinsic.shared_words.shared_words` whose vector is zero in no run: a
    zero
    vector has no direction.
    """
    given = {name: run for name, run in runs.items() if name not in (ONE_HOT, RANDOM)}
    words = shared_words(list(given.values()), n_words)
    clouds: dict[str, Cloud] = {}
    failures: list[str] = []
    for name, vectors in given.items():
        try:
            clouds[name] = Cloud.of(vectors, words)
        except ArtifactError as error:  # of this run; the others have their numbers
            failures.append(f"intrinsic: {error}")
    kept = _without_zeros(words, list(clouds.values()))
    zero = len(words) - len(kept)
    if len(kept) < _LEAST_WORDS:
        return Geometry(*_too_few([*clouds, ONE_HOT, RANDOM], len(kept)), zero, failures)
    if zero:
        clouds = {name: Cloud.of(given[name], kept) for name in clouds}
    clouds |= _baselines(kept, config.seed)
    counts = draw_counts(len(kept), config.replicates, config.seed, _DRAWS)
    return Geometry(*_measure(clouds, kept, counts), zero, failures)


def _without_zeros(words: Sequence[str], clouds: Sequence[Cloud]) -> list[str]:
    """The words that have a direction in every run."""
    whole = np.ones(len(words), dtype=bool)
    for cloud in clouds:
        whole &= cloud.lengths > 0
    return [words[place] for place in np.flatnonzero(whole).tolist()]


def _baselines(words: Sequence[str], seed: int) -> dict[str, Cloud]:
    """One-hot and random vectors of just these words."""
    names_alone = WordVectors(words, np.empty((len(words), 0), np.float32))
    made = make_baselines([names_alone], [], len(words), seed)
    return {name: Cloud.of(vectors, words) for name, vectors in made.items()}


def _too_few(names: Sequence[str], n_words: int) -> tuple[list[Property], list[Agreement], int]:
    """One reason in place of all numbers."""
    nothing = _undefined(
        f"{n_words} shared words with vectors, at least {_LEAST_WORDS} are needed", n_words
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
    clouds: Mapping[str, Cloud], words: Sequence[str], counts: Counts
) -> tuple[list[Property], list[Agreement], int]:
    """Every run, then every two."""
    near = {name: neighborhoods(cloud.units, _NEIGHBORS) for name, cloud in clouds.items()}
    properties = []
    for name, cloud in clouds.items():
        for metric, statistic in _alone(cloud, near[name]).items():
            numbers = _numbers(statistic, counts)
            properties.append(Property(run=name, metric=metric, **numbers))
            if metric == "hubness":
                properties.append(_largest_hub(name, near[name], words))
    agreements = [
        Agreement(a=a, b=b, metric=metric, **_numbers(statistic, counts))
        for a, b in combinations(clouds, 2)
        for metric, statistic in _together((clouds[a], clouds[b]), (near[a], near[b])).items()
    ]
    return properties, agreements, len(words)


def _numbers(statistic: Statistic | str, counts: Counts) -> dict[str, Any]:
    """Score and interval, or the reason why there are none."""
    n_words = counts.shape[1]
    if isinstance(statistic, str):
        return _undefined(statistic, n_words)
    resampled = resample(statistic, counts)
    low, high = (None if np.isnan(end) else end for end in interval(resampled))
    return {"score": resampled.score, "low": low, "high": high, "words": n_words}


def _undefined(reason: str, n_words: int) -> dict[str, Any]:
    """A reason in place of numbers."""
    return {"score": None, "low": None, "high": None, "words": n_words, "reason": reason}


def _alone(cloud: Cloud, near: np.ndarray | None) -> dict[str, Statistic | str]:
    """What gives the properties of a run and can be resampled, or why it is undefined."""
    return {
        "mean_cosine": PairCosines(cloud.units),
        "isotropy": _TOO_WIDE if cloud.wide else partition_ratio(cloud.units),
        "hubness": _hubness(near),
        "length_frequency": _length_frequency(cloud),
    }


def _hubness(near: np.ndarray | None) -> Statistic | str:
    """How skewed it is how often words are neighbors."""
    if near is None:
        return _EQUAL_COSINES
    times = near.sum(axis=0)
    return skewness(times) if np.ptp(times) else "all words are neighbors equally often"


def _largest_hub(name: str, near: np.ndarray | None, words: Sequence[str]) -> Property:
    """The word that is a neighbor most often; an extreme, which draws tell nothing of."""
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


def _length_frequency(cloud: Cloud) -> Statistic | str:
    """Whether more frequent words have longer vectors."""
    if same_length(cloud.lengths):
        return "all vectors have the same length"
    if not np.ptp(cloud.frequencies):
        return "all words are equally frequent"
    return Correlation(cloud.frequencies, cloud.lengths, ranked=True)


def _together(
    clouds: tuple[Cloud, Cloud], near: tuple[np.ndarray | None, np.ndarray | None]
) -> dict[str, Statistic | str]:
    """What tells how two runs agree and can be resampled, or why it is undefined."""
    (a, b), (near_a, near_b) = clouds, near
    return {
        "neighbors": (
            _EQUAL_COSINES
            if near_a is None or near_b is None
            else Means(neighbor_overlap(near_a, near_b))
        ),
        "procrustes": _TOO_WIDE if a.wide or b.wide else procrustes_distance(a.units, b.units),
    }
