"""What a comparison finds: scores, differences, and what could not be scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from embed.compare.statistics.significance import Difference
from embed.compare.task import Measurement


@dataclass(frozen=True, eq=False)
class Score:
    """What one run, or one method with several seeds, reached on one set in one metric."""

    run: str  # the run, ``one-hot``, ``random``, or the name of runs that differ in the seed only
    place: int  # position of the set among those compared: two files may share a stem
    shared: bool  # whether the items are those that all runs know; else all that this run knows
    measured: Measurement  # the metric, its items, and what they gave
    score: float | None  # none where the metric is undefined; of several seeds the mean
    low: float | None  # 95 % bootstrap interval over items; None where it is undefined
    high: float | None  # 95 % bootstrap interval over items; None where it is undefined
    known: int = 0  # items of the set, section or band of which the run knows every word
    deviation: float | None = None  # standard deviation over seeds; None for a single run
    n_seeds: int = 1  # how many seeds were scored


@dataclass(frozen=True)
class Pair:
    """How far one run is ahead of another on the items that all runs know."""

    a: str  # the runs
    b: str  # the runs
    place: int  # position of the set among those compared
    task: str  # as :class:`~embed.compare.task.Measurement` has them
    dataset: str  # as :class:`~embed.compare.task.Measurement` has them
    metric: str  # as :class:`~embed.compare.task.Measurement` has them
    section: str | None  # as above
    # of ``a`` less ``b``; its p corrected for the number of pairs (Holm 1979) of this set and
    # metric
    difference: Difference


@dataclass(frozen=True)
class Comparison:
    """All that a comparison found."""

    runs: tuple[str, ...]  # in the order given, then ``one-hot`` and ``random``
    scores: list[Score]  # set by set and metric by metric, on shared items first
    pairs: list[Pair]  # of every two runs, where both are defined
    # why runs could not be scored on a set, a line each
    failures: list[str] = field(default_factory=list)
    # runs that differ in the seed only, by a name for all of them
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> list[str]:
        """What a table shows: methods of which several seeds were scored, and the other runs."""
        scored = {score.run for score in self.scores}
        owner = {run: name for name in self.groups if name in scored for run in self.groups[name]}
        return list(dict.fromkeys(owner.get(run, run) for run in self.runs))
