"""Evaluate all runs on one set: scores with intervals, and paired tests."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from threading import Lock

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import Progress
from firth.corpora.common.threads import map_in_order, thread_count
from firth.embed.compare.config import CompareConfig, rows_of_run
from firth.embed.compare.datasets.parts import bare_name
from firth.embed.compare.inputs.baselines import BASELINES, POPULAR
from firth.embed.compare.inputs.lookup import find_words
from firth.embed.compare.probes.progress import reporting_shares
from firth.embed.compare.scoring.cache import MeasurementCache
from firth.embed.compare.scoring.results import Pair, Score
from firth.embed.compare.statistics.bootstrap import (
    Resampled,
    average_over_seeds,
    draw_counts,
    interval,
    resample,
)
from firth.embed.compare.statistics.estimators import Counts
from firth.embed.compare.statistics.significance import holm, paired
from firth.embed.compare.task import Measurement, Task
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.wordlist import FEW_SHARED, note_join, noun_of

Bands = Mapping[str, np.ndarray]  # name -> bool (n_items,): parts of a set by frequency


@dataclass(frozen=True, eq=False)
class _Result:
    """One metric of one run; ``resampled`` is None if the metric is undefined."""

    measured: Measurement
    resampled: Resampled | None


_Results = dict[str, list[_Result]]  # run -> its metrics; only some runs may have a section


class SetEvaluation:
    """Evaluates all runs on one set: find known items, measure, then read scores and pairs."""

    def __init__(
        self,
        task: Task,
        set_index: int,
        vectors: Mapping[str, StaticVectors],
        groups: Mapping[str, Sequence[str]],
        config: CompareConfig,
        cache: MeasurementCache,
        bands: Bands,
        controls: Collection[str],
    ) -> None:
        self._task, self._set_index, self._vectors, self._groups = task, set_index, vectors, groups
        self._config, self._cache, self._bands = config, cache, bands
        self._controls = controls
        self._known: dict[str, np.ndarray] = {}
        self._covered: dict[str, np.ndarray] = {}
        self._shared = np.zeros(task.n_items, dtype=bool)
        # by whether items are shared by all runs
        self._found: dict[bool, _Results] = {True: {}, False: {}}
        self._draws: dict[bytes, Counts] = {}
        self._drawing = Lock()

    def find_known_items(self) -> Iterator[str]:
        """Find the items that each run and all runs cover; yield errors of damaged runs."""
        unknown = self._config.unknown
        known = []
        for name, vectors in self._vectors.items():
            try:
                covered = self._task.known(vectors)
                own = covered if unknown == "skip" else self._task.known(vectors, unknown)
            except ArtifactError as error:  # evaluate the other runs
                yield f"{self._task.dataset}: {error}"
            else:
                if own is None or covered is None:  # no effect on the shared items
                    own = covered = np.zeros(self._task.n_items, dtype=bool)
                elif name not in BASELINES:
                    known.append(own)
                    if covered.mean() < FEW_SHARED:
                        self._note_join(name)
                self._known[name], self._covered[name] = own, covered
        if known:
            self._shared = np.logical_and.reduce(known)

    def _note_join(self, name: str) -> None:
        """Report that hardly a word of the set is in a run, unless that has few words itself."""
        vectors = self._vectors[name]
        rows = find_words(vectors, self._task.texts()).rows.values()
        most = min(len(rows), len(vectors.vocabulary))
        what = f"{noun_of(vectors)}s that {self._task.dataset} and {name} may share are in both"
        note_join(sum(row >= 0 for row in rows), most, what)

    def measure(self, progress: Progress, n_sets: int) -> Iterator[str]:
        """Score every run on shared items and on all it covers; yield errors of damaged runs."""
        names = list(self._known)
        n_before, n_scores = (n * len(self._vectors) for n in (self._set_index, n_sets))
        shares = dict.fromkeys(names, 0.0)
        reporting = Lock()

        def evaluate(name: str) -> tuple[list[_Result], list[_Result]] | ArtifactError:
            def report(share: float) -> None:
                with reporting:
                    shares[name] = share
                    done = n_before + sum(shares.values())
                    progress(done, n_scores, f"{name} on {self._task.dataset}")

            with reporting_shares(report):
                found = self._evaluate_run(name)
            report(1.0)
            return found

        results = map_in_order(evaluate, names, thread_count(None))
        for name, found in zip(names, results, strict=True):
            if isinstance(found, ArtifactError):  # keep the other runs
                yield f"{self._task.dataset}: {found}"
                continue
            self._covered |= dict.fromkeys(rows_of_run(self._config, name), self._covered[name])
            for shared, of_run in zip((True, False), found, strict=True):
                for each in of_run:
                    row = f"{name} {each.measured.pooling}".rstrip()
                    self._found[shared].setdefault(row, []).append(each)
        for shared, by_run in self._found.items():
            self._found[shared] = self._with_groups(by_run)

    def scores(self) -> Iterator[Score]:
        """Yield the score of every metric, item choice and run."""
        for shared, by_run in self._found.items():
            for column in _columns(by_run):
                for name, result in column.items():
                    yield self._score(name, shared, result)

    def pairs(self) -> Iterator[Pair]:
        """Test every two runs; Holm's correction is apart for single seeds, and for controls."""
        found, groups = self._found[True], self._groups
        members = {run for name, runs in groups.items() if name in found for run in runs}
        others = [name for name in found if name not in members]
        yield from self._family(others, others)
        for pair in self._family([n for n in found if n not in groups], members):
            yield pair if pair.family == "controls" else replace(pair, family="seeds")

    def _evaluate_run(self, name: str) -> tuple[list[_Result], list[_Result]] | ArtifactError:
        """Return all metrics of a run, on the shared items and on all items it covers."""
        own = self._known[name]
        shared = self._shared & own
        try:
            of_shared = self._measured(name, shared)
            same = bool((shared == own).all())
            return of_shared, of_shared if same else self._measured(name, own)
        except ArtifactError as error:
            return error

    def _measured(self, name: str, items: np.ndarray) -> list[_Result]:
        """Return every metric of a run on some items, on all of them and by band."""
        vectors, unknown = self._vectors[name], self._config.unknown
        measured = [
            replace(each, dataset=self._task.dataset)
            for each in self._cache.measure(name, vectors, items, unknown)
        ]
        whole = [each for each in measured if each.section is None]
        in_bands = [
            each.part(band, inside) for band, inside in self._bands.items() for each in whole
        ]
        return [self._resampled(each) for each in [*measured, *in_bands]]

    def _resampled(self, measured: Measurement) -> _Result:
        """Add replicates to a metric, or the reason why it is undefined on its items."""
        if measured.statistic is None:
            return _Result(measured, None)
        resampled = resample(measured.statistic, self._counts(measured), measured.words)
        if math.isnan(resampled.score):
            reason = "too few items, or all equal"
            return _Result(replace(measured, statistic=None, reason=reason, p=None), None)
        return _Result(measured, resampled)

    def _counts(self, measured: Measurement) -> Counts:
        """Return the bootstrap draws of these items, the same for all runs."""
        units = measured.units
        key = str(len(measured.items)).encode() if units is None else units.tobytes()
        with self._drawing:
            if key not in self._draws:
                config, seed_name = self._config, bare_name(self._task.dataset)
                self._draws[key] = draw_counts(
                    len(measured.items), config.replicates, config.seed, seed_name, units
                )
        return self._draws[key]

    def _with_groups(self, by_run: _Results) -> _Results:
        """Insert the mean of each group with several scored seeds before its first run."""
        results: _Results = {}
        for name, of_run in by_run.items():
            for group, runs in self._groups.items():
                scored = [by_run[run] for run in runs if run in by_run]
                if name in runs and group not in results and len(scored) > 1:
                    results[group] = [_average(column) for column in zip(*scored, strict=True)]
            results[name] = of_run
        return results

    def _family(self, names: Sequence[str], among: Collection[str]) -> Iterator[Pair]:
        """Test every two of these runs, of which one is ``among`` some, for each metric.

        Holm's correction is of the pairs of runs that were named, and of all others apart.
        """
        found = self._found[True]
        for column in _columns({name: found[name] for name in names}):
            # a run may have no items here, and baselines may lack an item that all runs cover
            parts = [each.measured for each in column.values()]
            whole = max(parts, key=lambda part: len(part.items))
            defined = [
                (name, result.resampled)
                for name, result in column.items()
                if result.resampled is not None
                and np.array_equal(result.measured.items, whole.items)
            ]
            two = [pair for pair in combinations(defined, 2) if any(n in among for n, _ in pair)]
            differences = [paired(a, b, whole.units) for (_, a), (_, b) in two]
            named = np.array([not {a, b} & set(self._controls) for (a, _), (b, _) in two], bool)
            p = np.array([difference.p for difference in differences])
            for family in (named, ~named):
                p[family] = holm(p[family])
            for ((a, _), (b, _)), difference, own, value in zip(
                two, differences, named.tolist(), p.tolist(), strict=True
            ):
                yield Pair(
                    a, b, self._set_index, whole.task, whole.dataset, whole.metric, whole.section,
                    replace(difference, p=value), "runs" if own else "controls",
                )  # fmt: skip

    def _score(self, name: str, shared: bool, result: _Result) -> Score:
        """Return the score of one run, with None for undefined numbers."""
        known, resampled = self._n_known(name, result.measured), result.resampled
        score = Score(name, self._set_index, shared, result.measured, None, None, None, known)
        if resampled is None:
            return score
        low, high = (None if math.isnan(end) else end for end in interval(resampled))
        return replace(
            score, score=resampled.score, low=low, high=high,
            deviation=resampled.deviation, n_seeds=resampled.n_seeds,
        )  # fmt: skip

    def _n_known(self, name: str, measured: Measurement) -> int:
        """Return the number of items of a set or section that a run covers."""
        own = next(
            each.measured
            for each in self._found[False][name]
            if (each.measured.metric, each.measured.section) == (measured.metric, measured.section)
        )
        runs = self._groups.get(name, [name])
        first = next(run for run in runs if run in self._found[False])
        return int(self._covered[first][own.items].sum())


def _columns(by_run: _Results) -> Iterator[dict[str, _Result]]:
    """Yield run -> result for each metric and section that a run has, not popularity alone."""
    columns: dict[tuple[str, str | None], dict[str, _Result]] = {}
    for name, results in by_run.items():
        for result in results:
            key = result.measured.metric, result.measured.section
            columns.setdefault(key, {})[name] = result
    yield from (column for column in columns.values() if column.keys() != {POPULAR})


def _average(results: Sequence[_Result]) -> _Result:
    """Average one metric over seeds; undefined if it is for any seed, or if their items differ."""
    first = results[0].measured
    if not all(np.array_equal(result.measured.items, first.items) for result in results):
        reason = "the seeds do not cover the same items"
        return _Result(replace(first, statistic=None, reason=reason), None)
    resampled = [result.resampled for result in results if result.resampled is not None]
    if len(resampled) < len(results):
        undefined = next(each.measured for each in results if each.resampled is None)
        return _Result(replace(undefined, p=None), None)
    averaged = average_over_seeds(resampled)
    notes = dict.fromkeys(result.measured.note for result in results if result.measured.note)
    note = "; ".join(filter(None, notes)) or None
    return _Result(replace(first, statistic=averaged.statistic, p=None, note=note), averaged)
