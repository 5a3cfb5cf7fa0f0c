"""The results of a comparison's document, divided by what they measure; who is best in each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from embed.compare.statistics.ranking import Rank, rank_runs
from embed.compare.task import task_name


@dataclass(frozen=True, eq=False)
class ResultGroup:
    """What one metric says of one set, or of a part of it, on the items that all runs know."""

    task: str  # what is measured
    dataset: str  # what is measured
    metric: str  # what is measured
    section: str | None  # the part of the set, where it is not the whole
    number: int  # from 0: sets of one name differ in it
    # an entry of the document's ``results`` per row, in the order of the runs
    results: Mapping[str, Mapping[str, Any]]
    own: Mapping[str, Mapping[str, Any]]  # the same on all items that the row knows itself
    # entries of the document's ``pairs``, by ``a`` and ``b``
    pairs: Mapping[tuple[str, str], Mapping[str, Any]]

    @property
    def ranked(self) -> bool:
        """Whether a higher score is a better one."""
        return all(result.get("ranked", True) for result in self.results.values())

    @cached_property
    def ranking(self) -> Mapping[str, Rank]:
        """How every row with a score stands to the best; of none where none is better."""
        return rank_runs(
            {run: result["score"] for run, result in self.results.items()},
            [(a, b, entry["p"]) for (a, b), entry in self.pairs.items()],
            ranked=self.ranked,
        )

    @property
    def best(self) -> frozenset[str]:
        """The rows with the highest score; none where all are undefined, or none is better."""
        return self._with_rank(Rank.BEST)

    @property
    def equals(self) -> frozenset[str]:
        """The other rows with a score of which tests cannot tell the best."""
        return self._with_rank(Rank.EQUAL)

    @property
    def untested(self) -> frozenset[str]:
        """The rows with a score that no test could hold against the best, where there is one."""
        return self._with_rank(Rank.UNTESTED)

    @property
    def worse(self) -> frozenset[str]:
        """The rows with a score that are neither the best nor equal; none without any test."""
        return self._with_rank(Rank.WORSE, Rank.UNTESTED) if self.pairs else frozenset()

    def _with_rank(self, *wanted: Rank) -> frozenset[str]:
        """The rows that stand so."""
        return frozenset(run for run, rank in self.ranking.items() if rank in wanted)


def rows_of(document: Mapping[str, Any]) -> list[str]:
    """Name the rows of tables: methods of which several seeds were scored, and the other runs."""
    owner = _owners(document)
    return list(dict.fromkeys(owner.get(run["run"], run["run"]) for run in document["runs"]))


def group_results(document: Mapping[str, Any]) -> list[ResultGroup]:
    """Divide the results of a comparison by set, section and metric."""
    rows = set(rows_of(document))
    shared: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    own: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for place, result in _numbered(document["results"], "run"):
        if result["run"] in rows:
            part = shared if result["shared_items"] else own
            part.setdefault(place, {})[result["run"]] = result
    pairs: dict[tuple[Any, ...], dict[tuple[str, str], Mapping[str, Any]]] = {}
    for place, pair in _numbered(document["pairs"], "a", "b"):
        if {pair["a"], pair["b"]} <= rows:
            pairs.setdefault(place, {})[pair["a"], pair["b"]] = pair
    return [
        ResultGroup(
            task,
            dataset,
            metric,
            section,
            number,
            results,
            own.get(place, {}),
            pairs.get(place, {}),
        )
        for place, results in shared.items()
        for task, dataset, metric, section, number in [place]
    ]


def _owners(document: Mapping[str, Any]) -> dict[str, str]:
    """The row that stands for a run, of those that differ in the seed only."""
    scored = {result["run"] for result in document["results"]}
    return {
        one: run["run"]
        for run in document["runs"]
        if run["run"] in scored
        for one in run.get("seeds", ())
    }


def _numbered(
    entries: Sequence[Mapping[str, Any]], *names: str
) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Entries with the first five attributes of their panel."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for entry in entries:
        place = task_name(entry["task"]), entry["dataset"], entry["metric"], entry.get("section")
        key = (*place, entry.get("shared_items"), *(entry[name] for name in names))
        yield (*place, seen[key]), entry
        seen[key] += 1
