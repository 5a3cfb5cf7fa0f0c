"""Score runs and baselines on every evaluation set, and test every difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from corpora.console import Progress, no_progress
from corpora.errors import ArtifactError
from embed.compare.baselines import make_baselines
from embed.compare.config import CompareConfig
from embed.compare.datasets import default_sets
from embed.compare.statistics import (
    Difference,
    Resampled,
    draw_counts,
    holm,
    interval,
    paired,
    resample,
)
from embed.compare.tasks import Measured, Task, read_task
from embed.protocols import StaticVectors


@dataclass(frozen=True, eq=False)
class Score:
    """What one run reached on one evaluation set in one metric.

    Attributes
    ----------
    run : str
        The run, ``one-hot`` or ``random``.
    place : int
        Position of the set among those compared: two files may share a stem.
    shared : bool
        Whether the items are those that all runs know; else all that this run knows.
    measured : Measured
        The metric, its items, and what they gave.
    score : float or None
        None where the metric is undefined.
    low, high : float or None
        95 % bootstrap interval; None where it is undefined.
    known : int
        Items of the set, or section, of which the run knows every word.
    """

    run: str
    place: int
    shared: bool
    measured: Measured
    score: float | None
    low: float | None
    high: float | None
    known: int = 0


@dataclass(frozen=True)
class Pair:
    """How far one run is ahead of another on the items that all runs know.

    Attributes
    ----------
    a, b : str
        The runs.
    place : int
        Position of the set among those compared.
    task, dataset, metric : str
        As :class:`~embed.compare.tasks.Measured` has them.
    section : str or None
        As above.
    difference : Difference
        Of ``a`` less ``b``; its p corrected for the number of pairs (Holm 1979) of this set and
        metric.
    """

    a: str
    b: str
    place: int
    task: str
    dataset: str
    metric: str
    section: str | None
    difference: Difference


@dataclass(frozen=True)
class Comparison:
    """All that a comparison found.

    Attributes
    ----------
    runs : tuple of str
        In the order given, then ``one-hot`` and ``random``.
    scores : list of Score
        Set by set and metric by metric, on shared items first.
    pairs : list of Pair
        Of every two runs, where both are defined.
    failures : list of str
        Why runs could not be scored on a set, a line each.
    """

    runs: tuple[str, ...]
    scores: list[Score]
    pairs: list[Pair]
    failures: list[str] = field(default_factory=list)


def read_tasks(config: CompareConfig) -> list[Task]:
    """Read all evaluation sets of a comparison.

    Parameters
    ----------
    config : CompareConfig
        Names the files; where it names none, the sets that gensim carries.

    Returns
    -------
    list of Task
        Task by task, in the order given.

    Raises
    ------
    SourceError
        A set is missing or malformed.
    """
    given = {
        "similarity": config.similarity,
        "analogy": config.analogies,
        "categorisation": config.categories,
        "odd-one-out": config.odd_one_out,
    }
    named = [(name, Path(file)) for name, files in given.items() for file in files]
    return [read_task(name, path, config) for name, path in named or default_sets()]


def compare(
    runs: Mapping[str, StaticVectors],
    tasks: Sequence[Task],
    config: CompareConfig,
    progress: Progress = no_progress,
) -> Comparison:
    """Score runs, then one-hot and random vectors, and test the differences of every two.

    Parameters
    ----------
    runs : mapping of str to StaticVectors
        Name to vectors, at least one.
    tasks : sequence of Task
        The sets, read.
    config : CompareConfig
        How to score.
    progress : Progress
        Told after each set of each run.

    Returns
    -------
    Comparison
        The same for the same vectors, sets and options.
    """
    texts = [text for task in tasks for text in task.texts()]
    limit = config.candidates or max(len(vectors.vocabulary) for vectors in runs.values())
    baselines = make_baselines(list(runs.values()), texts, limit, config.seed)
    everything = {**runs, **baselines}
    scores: list[Score] = []
    pairs: list[Pair] = []
    failures: list[str] = []
    for place, task in enumerate(tasks):
        judge = _Judge(task, place, everything, list(runs), config)
        for index, name in enumerate(everything, start=1):
            try:
                judge.measure(name)
            except ArtifactError as error:  # of this run; the others have their scores
                failures.append(f"{task.dataset}: {error}")
            progress(place * len(everything) + index, len(tasks) * len(everything))
        scores += judge.scores()
        pairs += judge.pairs()
    return Comparison(tuple(everything), scores, pairs, failures)


class _Judge:
    """One set, as all runs answer it."""

    def __init__(
        self,
        task: Task,
        place: int,
        everything: Mapping[str, StaticVectors],
        runs: Sequence[str],
        config: CompareConfig,
    ) -> None:
        self._task, self._place, self._everything, self._config = task, place, everything, config
        self._known = {
            name: task.known(vectors, config.unknown) for name, vectors in everything.items()
        }
        self._shared = np.logical_and.reduce([self._known[name] for name in runs])
        skips = config.unknown == "skip"
        self._covered = (
            self._known
            if skips
            else {name: task.known(vectors) for name, vectors in everything.items()}
        )
        self._found: dict[bool, dict[str, list[tuple[Measured, Resampled | None]]]] = {
            True: {},
            False: {},
        }
        self._draws: dict[int, np.ndarray] = {}

    def measure(self, name: str) -> None:
        """Score one run on the shared items, and on all of its own where these are more."""
        own = self._known[name]
        shared = self._shared & own
        of_shared = self._resampled(name, shared)
        same = bool((shared == own).all())
        self._found[False][name] = of_shared if same else self._resampled(name, own)
        self._found[True][name] = of_shared

    def scores(self) -> Iterator[Score]:
        """Every metric of every run, by metric."""
        for shared, found in self._found.items():
            for column in zip(*found.values(), strict=True):
                for name, (measured, resampled) in zip(found, column, strict=True):
                    yield self._score(name, shared, measured, resampled)

    def pairs(self) -> Iterator[Pair]:
        """Every two runs, by metric."""
        found = self._found[True]
        for column in zip(*found.values(), strict=True):
            defined = [
                (name, resampled)
                for name, (measured, resampled) in zip(found, column, strict=True)
                # baselines may lack an item that all runs know
                if resampled is not None and np.array_equal(measured.items, column[0][0].items)
            ]
            names = list(combinations(defined, 2))
            differences = [paired(a, b) for (_, a), (_, b) in names]
            corrected = holm([difference.p for difference in differences]).tolist()
            for ((a, _), (b, _)), difference, p in zip(names, differences, corrected, strict=True):
                yield self._pair(a, b, column[0][0], difference, p)

    def _resampled(self, name: str, items: np.ndarray) -> list[tuple[Measured, Resampled | None]]:
        """Every metric of a run on some items, with its replicates."""
        measured = self._task.measure(self._everything[name], items, self._config.unknown)
        return [
            (each, None if each.sample is None else resample(each.sample, self._counts(each)))
            for each in measured
        ]

    def _counts(self, measured: Measured) -> np.ndarray:
        """The draws of so many items of this set: the same for all runs."""
        n_items = len(measured.items)
        if n_items not in self._draws:
            config = self._config
            self._draws[n_items] = draw_counts(
                n_items, config.replicates, config.seed, self._task.dataset
            )
        return self._draws[n_items]

    def _score(
        self, name: str, shared: bool, measured: Measured, resampled: Resampled | None
    ) -> Score:
        """Numbers of one run, undefined ones as None."""
        known = self._n_known(name, measured)
        if resampled is None:
            return Score(name, self._place, shared, measured, None, None, None, known)
        score, low, high = (
            None if np.isnan(number) else number
            for number in (resampled.score, *interval(resampled))
        )
        return Score(name, self._place, shared, measured, score, low, high, known)

    def _n_known(self, name: str, measured: Measured) -> int:
        """Of how many items of a set or section a run knows every word."""
        own = next(
            each
            for each, _ in self._found[False][name]
            if (each.metric, each.section) == (measured.metric, measured.section)
        )
        return int(self._covered[name][own.items].sum())

    def _pair(self, a: str, b: str, measured: Measured, found: Difference, p: float) -> Pair:
        """One difference, its p corrected."""
        return Pair(
            a,
            b,
            self._place,
            measured.task,
            measured.dataset,
            measured.metric,
            measured.section,
            replace(found, p=p),
        )
