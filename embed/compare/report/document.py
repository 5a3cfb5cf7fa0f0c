"""A comparison as one document, the JSON, and its results grouped and ranked, for all views."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.held_out import HeldOutRow
from firth.embed.compare.scoring.notes import FEW_NOTES, few_of, join_notes
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.statistics.ranking import Rank, rank_runs

# task, dataset, metric, section, and the number of a set of the same name
_Key = tuple[str, str, str, str | None, int]


def to_json(
    comparison: Comparison, config: CompareConfig, about: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Turn a comparison into the JSON that ``firth compare --json`` prints."""
    return {
        "runs": [
            {"run": row, **about.get(run, {"method": run, "fingerprint": None})}
            for row, run in comparison.runs.items()
        ]
        + [
            {
                "run": name,
                "method": about.get(comparison.runs.get(runs[0], ""), {}).get("method"),
                "fingerprint": None,
            }
            | {"seeds": list(runs)}
            for name, runs in comparison.groups.items()
        ],
        "results": [result_entry(score, comparison, config.unknown) for score in comparison.scores],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        **({"failures": comparison.failures} if comparison.failures else {}),
    }


def result_entry(score: Score, comparison: Comparison, unknown: str) -> dict[str, Any]:
    """Return the entry of a score in the JSON of a comparison or a learning curve."""
    measured, few = score.measured, few_of(score)
    further = {
        "section": measured.section,
        "reason": measured.reason,
        "remark": join_notes(measured.note, FEW_NOTES.get(few or "")),
        "few": few,
        "foreign": score.foreign or None,
        "items_composed": measured.items_composed or None,
        "items_zero": measured.items_zero or None,
        "items_known": None if unknown == "skip" else score.known,
        "ranked": None if measured.ranked else False,
        "p": measured.p,
        "chance": measured.chance,
        "coverage": measured.coverage,
        "grouped": measured.grouped,
        "seeds": score.n_seeds if score.run in comparison.groups else None,
        "deviation": score.deviation,
    }
    return {
        "run": score.run,
        "task": measured.task,
        "dataset": measured.dataset,
        "metric": measured.metric,
        "score": score.score,
        "low": score.low,
        "high": score.high,
        "items_used": len(measured.items),
        "items_total": measured.items_total,
        "unknown": unknown,
        "shared_items": score.shared,
        **{name: value for name, value in further.items() if value is not None},
    }


def note_of(entry: Mapping[str, Any]) -> str | None:
    """Return the remark on a result without that on its few items."""
    remark = entry.get("remark")
    if remark is None or "few" not in entry:
        return remark
    return str(remark).removesuffix(FEW_NOTES[entry["few"]]).removesuffix("; ") or None


def held_out_json(rows: Sequence[HeldOutRow]) -> list[dict[str, Any]]:
    """Turn held-out losses into JSON; a loss or error that is undefined is null."""
    return [
        {"run": row.run, "units": row.loss.n_units, **_loss_json("", row.loss, row.bits)}
        | ({} if row.deviation is None else {"deviation": _finite(row.deviation)})
        | ({} if row.behind is None else _loss_json("behind_", row.behind, row.bits))
        for row in rows
    ]


def _loss_json(prefix: str, loss: HeldOutLoss, bits: bool) -> dict[str, float | None]:
    """Return a loss or difference with its error."""
    return {
        f"{prefix}{'bits_per_character' if bits else 'loss'}": _finite(loss.mean),
        f"{prefix}standard_error": _finite(loss.standard_error),
    }


def _finite(number: float) -> float | None:
    """Return a number, or None for NaN and infinity, which JSON lacks."""
    return number if math.isfinite(number) else None


def _pair(pair: Pair) -> dict[str, Any]:
    """Return one entry of the JSON."""
    names, numbers = ("a", "b", "task", "dataset", "metric"), ("difference", "low", "high", "p")
    return {
        **{name: getattr(pair, name) for name in names},
        **{name: _finite(getattr(pair.difference, name)) for name in numbers},
        "family": pair.family,
        **({} if pair.section is None else {"section": pair.section}),
    }


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

    @property
    def about(self) -> str:
        """The set, and its section if it is one."""
        return ", ".join(filter(None, (self.dataset, self.section)))

    @property
    def items_total(self) -> int:
        """Number of items of the set or section."""
        return max(int(result["items_total"]) for result in self.results.values())

    def rank(self, runs: Iterable[str]) -> dict[str, Rank]:
        """Rank some rows with a score; empty if the metric is not ranked."""
        scores = {run: self.results[run]["score"] for run in runs}
        pairs = [(a, b, entry["p"]) for (a, b), entry in self.pairs.items()]
        return rank_runs(scores, pairs, ranked=self.ranked)

    @cached_property
    def ranking(self) -> Mapping[str, Rank]:
        """Rank of every row with a score."""
        return self.rank(self.results)

    def with_rank(self, *wanted: str) -> list[str]:
        """Return the rows with one of these ranks."""
        return [run for run, rank in self.ranking.items() if rank in wanted]

    @property
    def worse(self) -> list[str]:
        """Rows that are neither best nor equal; empty if nothing was tested."""
        return self.with_rank(Rank.WORSE, Rank.UNTESTED) if self.pairs else []


def rows_of(document: Mapping[str, Any]) -> list[str]:
    """Return the rows of tables: groups with several scored seeds, and all other runs."""
    results = {result["run"]: {"run": result["run"]} for result in document["results"]}
    runs = document.get("runs", results.values())  # a learning curve has rows only
    owner = {
        seed: run["run"] for run in runs if run["run"] in results for seed in run.get("seeds", ())
    }
    return list(dict.fromkeys(owner.get(run["run"], run["run"]) for run in runs))


def group_results(document: Mapping[str, Any]) -> list[ResultGroup]:
    """Group the results of a comparison or a learning curve by set, section and metric."""
    rows = set(rows_of(document))
    shared: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    own: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    for key, result in _numbered(document["results"], "run"):
        if result["run"] in rows:
            part = shared if result["shared_items"] else own
            part.setdefault(key, {})[result["run"]] = result
    pairs: dict[_Key, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for key, pair in _numbered(document.get("pairs", ()), "a", "b"):
        if {pair["a"], pair["b"]} <= rows:
            pairs.setdefault(key, {})[pair["a"], pair["b"]] = pair
    return [
        ResultGroup(*key, results, own.get(key, {}), pairs.get(key, {}))
        for key, results in shared.items()
    ]


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
