"""Results of a comparison: scores, differences and failures."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from firth.embed.compare.statistics.significance import Difference
from firth.embed.compare.task import Measurement


@dataclass(frozen=True, eq=False)
class Score:
    """The score of one run, or the mean of several seeds, on one set in one metric."""

    run: str  # the run, ``one-hot``, ``random``, or the name of a group of seeds
    set_index: int  # index of the set in the comparison: two files may share a stem
    shared: bool  # on the items that all runs cover; else on all items this run covers
    measured: Measurement
    score: float | None  # None if the metric is undefined; the mean over seeds
    low: float | None  # 95 % bootstrap interval over items; None if undefined
    high: float | None
    known: int = 0  # items of the set, section or band that the run covers
    deviation: float | None = None  # standard deviation over seeds; None for a single run
    n_seeds: int = 1  # seeds with a score
    foreign: bool = False  # the set is English, the run does not look so


@dataclass(frozen=True)
class Pair:
    """The difference of two runs on the items that all runs cover."""

    a: str
    b: str
    set_index: int  # index of the set in the comparison
    task: str  # task, dataset, metric and section as in a Measurement
    dataset: str
    metric: str
    section: str | None
    difference: Difference  # a minus b; p is Holm-corrected over the family in this set and metric
    # ``runs`` that were named, single ``seeds``, or ``controls``: with a baseline or a start
    family: str = "runs"


@dataclass(frozen=True)
class Comparison:
    """All results of a comparison."""

    # row -> its run, in the order given, then ``one-hot`` and ``random``: itself, without poolings
    runs: Mapping[str, str]
    scores: list[Score]  # set by set and metric by metric, on shared items first
    pairs: list[Pair]  # every two runs with defined scores
    failures: list[str] = field(default_factory=list)  # why runs could not be scored on a set
    # group name -> runs that differ only in the seed
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:  # that of a dataclass would hold every measurement
        return f"<Comparison: {len(self.runs)} runs, {len(self.scores)} scores>"

    @property
    def rows(self) -> list[str]:
        """Rows of a table: groups with several scored seeds, and all other runs."""
        scored = {score.run for score in self.scores}
        owner = {run: name for name in self.groups if name in scored for run in self.groups[name]}
        return list(dict.fromkeys(owner.get(run, run) for run in self.runs))
