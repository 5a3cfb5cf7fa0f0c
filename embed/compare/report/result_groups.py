"""Results of a comparison's document grouped by set, section and metric, with rankings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from firth.embed.compare.statistics.ranking import Rank, rank_runs

# task, dataset, metric, section, and the number of a set of the same name
_Key = tuple[str, str, str, str | None, int]


@dataclass(frozen=True, eq=False)
class ResultGroup:
    """Results of all rows in one metric on one set or section."""

    task: str
    dataset: str
    metric: str
    section: str | None  # None for the whole set
    number: int  # from 0; distinguishes sets of the same name
    # row -> entry of the document's ``results`` on the items covered by all runs
    results: Mapping[str, Mapping[str, Any]]
    own: Mapping[str, Mapping[str, Any]]  # the same on all items that the row covers
    # (a, b) -> entry of the document's ``pairs``
    pairs: Mapping[tuple[str, str], Mapping[str, Any]]

    @property
    def ranked(self) -> bool:
        """Whether higher scores are better."""
        return all(result.get("ranked", True) for result in self.results.values())

    @property
    def chance(self) -> float | None:
        """Score of chance; None if the metric has none."""
        found = [result.get("chance") for result in self.results.values()]
        return next((chance for chance in found if chance is not None), None)

    @cached_property
    def ranking(self) -> Mapping[str, Rank]:
        """Rank of every row with a score; empty if the metric is not ranked."""
        return rank_runs(
            {run: result["score"] for run, result in self.results.items()},
            [(a, b, entry["p"]) for (a, b), entry in self.pairs.items()],
            ranked=self.ranked,
        )

    @property
    def best(self) -> frozenset[str]:
        """Rows with the highest score."""
        return self._with_rank(Rank.BEST)

    @property
    def equals(self) -> frozenset[str]:
        """Other rows without a significant difference from the best."""
        return self._with_rank(Rank.EQUAL)

    @property
    def untested(self) -> frozenset[str]:
        """Rows whose difference from the best could not be tested."""
        return self._with_rank(Rank.UNTESTED)

    @property
    def worse(self) -> frozenset[str]:
        """Rows that are neither best nor equal; empty if nothing was tested."""
        return self._with_rank(Rank.WORSE, Rank.UNTESTED) if self.pairs else frozenset()

    def _with_rank(self, *wanted: Rank) -> frozenset[str]:
        """Return the rows with one of these ranks."""
        return frozenset(run for run, rank in self.ranking.items() if rank in wanted)


def rows_of(document: Mapping[str, Any]) -> list[str]:
    """Return the rows of tables: groups with several scored seeds, and all other runs."""
    owner = _owners(document)
    return list(dict.fromkeys(owner.get(run["run"], run["run"]) for run in document["runs"]))


def group_results(document: Mapping[str, Any]) -> list[ResultGroup]:
    """Group the results of a comparison by set, section and metric."""
    rows = set(rows_of(document))
    shared: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    own: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    for key, result in _numbered(document["results"], "run"):
        if result["run"] in rows:
            part = shared if result["shared_items"] else own
            part.setdefault(key, {})[result["run"]] = result
    pairs: dict[_Key, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for key, pair in _numbered(document["pairs"], "a", "b"):
        if {pair["a"], pair["b"]} <= rows:
            pairs.setdefault(key, {})[pair["a"], pair["b"]] = pair
    return [
        ResultGroup(*key, results, own.get(key, {}), pairs.get(key, {}))
        for key, results in shared.items()
    ]


def _owners(document: Mapping[str, Any]) -> dict[str, str]:
    """Map each seed's run to the row of its group."""
    scored = {result["run"] for result in document["results"]}
    return {
        one: run["run"]
        for run in document["runs"]
        if run["run"] in scored
        for one in run.get("seeds", ())
    }


def _numbered(
    entries: Sequence[Mapping[str, Any]], *names: str
) -> Iterator[tuple[_Key, Mapping[str, Any]]]:
    """Yield entries with the first five fields of their group."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for entry in entries:
        measured = entry["task"], entry["dataset"], entry["metric"], entry.get("section")
        key = (*measured, entry.get("shared_items"), *(entry[name] for name in names))
        yield (*measured, seen[key]), entry
        seen[key] += 1
