"""One evaluation set, as all runs answer it: scores with intervals, and paired tests."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from threading import Lock

import numpy as np

from corpora.common.errors import ArtifactError
from corpora.common.threads import map_in_order, thread_count
from embed.compare.config import CompareConfig
from embed.compare.scoring.cache import MeasurementCache
from embed.compare.scoring.results import Pair, Score
from embed.compare.statistics.bootstrap import (
    Resampled,
    average_over_seeds,
    draw_counts,
    interval,
    resample,
)
from embed.compare.statistics.estimators import Counts
from embed.compare.statistics.significance import Difference, holm, paired
from embed.compare.task import Measurement, Task
from embed.protocols import StaticVectors

Bands = Mapping[str, np.ndarray]  # name to bool (n_items,): parts of a set by frequency


@dataclass(frozen=True, eq=False)
class ComparedVectors:
    """Who answers the sets."""

    vectors: Mapping[str, StaticVectors]  # runs by name, then the baselines
    runs: Sequence[str]  # those whose knowledge decides which items are shared: not the baselines
    # runs that differ in the seed only, by a name for all of them
    groups: Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class _Answer:
    """One metric of one run; its replicates are None where the metric is undefined."""

    measured: Measurement
    resampled: Resampled | None


_Answers = dict[str, list[_Answer]]  # by run, every metric; sections perhaps of some runs only


class SetEvaluation:
    """Asks all runs one set."""

    def __init__(
        self,
        task: Task,
        place: int,
        entrants: ComparedVectors,
        config: CompareConfig,
        measurer: MeasurementCache,
        bands: Bands,
    ) -> None:
        # bands: mapping of str to bool (n_items,)
        self._task, self._place, self._entrants = task, place, entrants
        self._config, self._measurer, self._bands = config, measurer, bands
        self._known: dict[str, np.ndarray] = {}
        self._covered: dict[str, np.ndarray] = {}
        self._shared = np.zeros(task.n_items, dtype=bool)
        self._found: dict[bool, _Answers] = {True: {}, False: {}}
        self._draws: dict[bytes, Counts] = {}
        self._drawing = Lock()

    def look_up(self) -> Iterator[str]:
        """Find the words of the set in all vectors."""
        unknown = self._config.unknown
        asked = []
        for name, vectors in self._entrants.vectors.items():
            try:
                covered = self._task.known(vectors)
                own = covered if unknown == "skip" else self._task.known(vectors, unknown)
            except ArtifactError as error:  # of this run; the others can be asked
                yield f"{self._task.dataset}: {error}"
            else:
                if own is None or covered is None:  # others are asked what it cannot be
                    own = covered = np.zeros(self._task.n_items, dtype=bool)
                elif name in self._entrants.runs:
                    asked.append(own)
                self._known[name], self._covered[name] = own, covered
        if asked:
            self._shared = np.logical_and.reduce(asked)

    def measure(self, threads: int | None = None) -> Iterator[str | None]:
        """Score every run on the shared items, and on all of its own where these are more."""
        names = list(self._known)
        answers = map_in_order(self._answer, names, thread_count(threads))
        for name, found in zip(names, answers, strict=True):
            if isinstance(found, ArtifactError):  # of this run; the others have their scores
                yield f"{self._task.dataset}: {found}"
            else:
                self._found[True][name], self._found[False][name] = found
                yield None
        for shared, by_run in self._found.items():
            self._found[shared] = self._with_groups(by_run)

    def scores(self) -> Iterator[Score]:
        """Tell every metric of every run."""
        for shared, by_run in self._found.items():
            for column in _columns(by_run):
                for name, answer in column.items():
                    yield self._score(name, shared, answer)

    def pairs(self) -> Iterator[Pair]:
        """Test the difference of every two runs.

        The corrections for many comparisons are two: one among methods, each with all of its
        seeds, and one among single runs. For few would be found among many seeds otherwise.
        """
        found, groups = self._found[True], self._entrants.groups
        members = {run for name, runs in groups.items() if name in found for run in runs}
        yield from self._family([name for name in found if name not in members])
        for pair in self._family([n for n in found if n not in groups] if members else []):
            if members & {pair.a, pair.b}:
                yield pair

    def _answer(self, name: str) -> tuple[list[_Answer], list[_Answer]] | ArtifactError:
        """All metrics of a run, on the shared items and on its own."""
        own = self._known[name]
        shared = self._shared & own
        try:
            of_shared = self._measured(name, shared)
            same = bool((shared == own).all())
            return of_shared, of_shared if same else self._measured(name, own)
        except ArtifactError as error:
            return error

    def _measured(self, name: str, items: np.ndarray) -> list[_Answer]:
        """Every metric of a run on some items, over all of them and by band."""
        vectors, unknown = self._entrants.vectors[name], self._config.unknown
        measured = self._measurer.measure(name, vectors, items, unknown)
        whole = [each for each in measured if each.section is None]
        in_bands = [
            each.part(band, inside) for band, inside in self._bands.items() for each in whole
        ]
        return [self._resampled(each) for each in [*measured, *in_bands]]

    def _resampled(self, measured: Measurement) -> _Answer:
        """A metric with its replicates; with a reason where these items give no score."""
        if measured.statistic is None:
            return _Answer(measured, None)
        resampled = resample(measured.statistic, self._counts(measured))
        if math.isnan(resampled.score):
            why = "the items scored give no score: they are too few or all alike"
            return _Answer(replace(measured, statistic=None, reason=why, p=None), None)
        return _Answer(measured, resampled)

    def _counts(self, measured: Measurement) -> Counts:
        """The draws of these items: the same for all runs."""
        units = measured.units
        key = str(len(measured.items)).encode() if units is None else units.tobytes()
        with self._drawing:
            if key not in self._draws:
                config = self._config
                self._draws[key] = draw_counts(
                    len(measured.items), config.replicates, config.seed, self._task.dataset, units
                )
        return self._draws[key]

    def _with_groups(self, by_run: _Answers) -> _Answers:
        """The same with an entry for each method of which several seeds were scored.

        It stands before the first of them.
        """
        every: _Answers = {}
        for name, answers in by_run.items():
            for group, runs in self._entrants.groups.items():
                scored = [by_run[run] for run in runs if run in by_run]
                if name in runs and group not in every and len(scored) > 1:
                    every[group] = [_average(column) for column in zip(*scored, strict=True)]
            every[name] = answers
        return every

    def _family(self, names: Sequence[str]) -> Iterator[Pair]:
        """Every two of these runs, by metric, corrected for their number."""
        found = self._found[True]
        for column in _columns({name: found[name] for name in names}):
            # a run may have no part in this, and baselines may lack an item that all runs know
            parts = [each.measured for each in column.values()]
            whole = max(parts, key=lambda part: len(part.items))
            defined = [
                (name, answer.resampled)
                for name, answer in column.items()
                if answer.resampled is not None
                and np.array_equal(answer.measured.items, whole.items)
            ]
            two = list(combinations(defined, 2))
            differences = [paired(a, b, whole.units) for (_, a), (_, b) in two]
            corrected = holm([difference.p for difference in differences]).tolist()
            for ((a, _), (b, _)), difference, p in zip(two, differences, corrected, strict=True):
                yield self._pair(a, b, whole, replace(difference, p=p))

    def _score(self, name: str, shared: bool, answer: _Answer) -> Score:
        """Numbers of one run, undefined ones as None."""
        known, resampled = self._n_known(name, answer.measured), answer.resampled
        if resampled is None:
            return Score(name, self._place, shared, answer.measured, None, None, None, known)
        score, low, high = (
            None if np.isnan(number) else number
            for number in (resampled.score, *interval(resampled))
        )
        return Score(
            name, self._place, shared, answer.measured, score, low, high, known,
            resampled.deviation, resampled.n_seeds,
        )  # fmt: skip

    def _n_known(self, name: str, measured: Measurement) -> int:
        """Of how many items of a set or a part of it a run knows every word."""
        own = next(
            each.measured
            for each in self._found[False][name]
            if (each.measured.metric, each.measured.section) == (measured.metric, measured.section)
        )
        runs = self._entrants.groups.get(name, [name])
        first = next(run for run in runs if run in self._found[False])
        return int(self._covered[first][own.items].sum())

    def _pair(self, a: str, b: str, measured: Measurement, difference: Difference) -> Pair:
        """One difference."""
        return Pair(
            a, b, self._place, measured.task, measured.dataset, measured.metric, measured.section,
            difference,
        )  # fmt: skip


def _columns(by_run: _Answers) -> Iterator[dict[str, _Answer]]:
    """Each metric and section, by the runs that have it: layers are sections of some runs only."""
    columns: dict[tuple[str, str | None], dict[str, _Answer]] = {}
    for name, answers in by_run.items():
        for answer in answers:
            key = answer.measured.metric, answer.measured.section
            columns.setdefault(key, {})[name] = answer
    yield from columns.values()


def _average(answers: Sequence[_Answer]) -> _Answer:
    """One metric over several seeds; undefined where it is for any, or their items differ."""
    first = answers[0].measured
    if not all(np.array_equal(answer.measured.items, first.items) for answer in answers):
        reason = "the seeds do not know the same items"
        return _Answer(replace(first, statistic=None, reason=reason), None)
    resampled = [answer.resampled for answer in answers if answer.resampled is not None]
    if len(resampled) < len(answers):
        undefined = next(each.measured for each in answers if each.resampled is None)
        return _Answer(replace(undefined, p=None), None)
    averaged = average_over_seeds(resampled)
    remarks = dict.fromkeys(answer.measured.note for answer in answers if answer.measured.note)
    remark = "; ".join(filter(None, remarks)) or None  # each seed's own
    return _Answer(replace(first, statistic=averaged.statistic, p=None, note=remark), averaged)
