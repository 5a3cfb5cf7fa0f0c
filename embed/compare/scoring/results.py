"""What a comparison finds: scores, differences, and what could not be scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from embed.compare.statistics.significance import Difference
from embed.compare.task import Measured


@dataclass(frozen=True, eq=False)
class Score:
    """What one run, or one method with several seeds, reached on one set in one metric.

    Attributes
    ----------
    run : str
        The run, ``one-hot``, ``random``, or the name of runs that differ in the seed only.
    place : int
        Position of the set among those compared: two files may share a stem.
    shared : bool
        Whether the items are those that all runs know; else all that this run knows.
    measured : Measured
        The metric, its items, and what they gave.
    score : float or None
        None where the metric is undefined; of several seeds the mean.
    low, high : float or None
        95 % bootstrap interval over items; None where it is undefined.
    known : int
        Items of the set, section or band of which the run knows every word.
    deviation : float or None
        Standard deviation over seeds; None for a single run.
    n_seeds : int
        How many seeds were scored.
    """

    run: str
    place: int
    shared: bool
    measured: Measured
    score: float | None
    low: float | None
    high: float | None
    known: int = 0
    deviation: float | None = None
    n_seeds: int = 1


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
        As :class:`~embed.compare.task.Measured` has them.
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
    groups : mapping of str to tuple of str
        Runs that differ in the seed only, by a name for all of them.
    """

    runs: tuple[str, ...]
    scores: list[Score]
    pairs: list[Pair]
    failures: list[str] = field(default_factory=list)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> list[str]:
        """What a table shows: methods of which several seeds were scored, and the other runs."""
        scored = {score.run for score in self.scores}
        owner = {run: name for name in self.groups if name in scored for run in self.groups[name]}
        return list(dict.fromkeys(owner.get(run, run) for run in self.runs))
