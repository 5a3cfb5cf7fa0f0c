"""Print the document of a comparison as a table, with a legend and notes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firth.corpora.common.console import bare, name_room, print_table
from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.kinds import KINDS
from firth.embed.compare.report.document import ResultGroup, group_results, note_of, rows_of
from firth.embed.compare.report.names import LONGEST, cut_name, short_names
from firth.embed.compare.scoring.held_out import HeldOutRow
from firth.embed.compare.scoring.notes import FEW_MARK, FEW_NOTES, gather_notes
from firth.embed.compare.statistics.ranking import ALPHA, Rank
from firth.embed.compare.task import task_class

COLUMNS = ("dataset", "metric", "run", "score", "95 %", "items", "coverage")
_BESIDE_SEEDS = 13  # characters of a name
_ITEMS = {
    "skip": "items covered by all runs",
    "zero": "all items, unknown words as zero vectors",
    "mean": "all items, unknown words as the mean vector",
}
_MARKS = {Rank.BEST: "*", Rank.EQUAL: "=", Rank.UNTESTED: "?"}


def print_report(document: Mapping[str, Any], unknown: str) -> None:
    """Print a table, of at most 100 columns on a terminal, and below it a legend and notes."""
    print_table(COLUMNS, list(table_rows(document)))
    for line in legend_lines(document, unknown):
        print(line)


def table_rows(document: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield the rows of the table; a set is named in its first row only."""
    with_seeds = any("seeds" in run for run in document["runs"])
    longest = name_room(_BESIDE_SEEDS if with_seeds else LONGEST)
    names = short_names(rows_of(document), longest)
    for group in group_results(document):
        name = group.dataset if group.section is None else f": {group.section}"
        for index, (run, result) in enumerate(group.results.items()):
            covered = result.get("items_known", group.own.get(run, result)["items_used"])
            yield [
                cut_name(name, longest) if index == 0 else "",
                group.metric.removeprefix("accuracy_") if index == 0 else "",
                names[run],
                _number(result, _MARKS.get(group.ranking.get(run, Rank.WORSE), "")),
                _interval(result),
                result["items_used"],
                f"{covered}/{result['items_total']}",
            ]


def legend_lines(document: Mapping[str, Any], unknown: str) -> Iterator[str]:
    """Yield the lines below the table: marks, seeds, chance levels and notes."""
    results, groups = document["results"], group_results(document)
    ranked = any(result.get("ranked", True) for result in results)
    marks = (
        f"; * best, = no significant difference (p > {ALPHA:g}, Holm), ? untested" if ranked else ""
    )
    yield f"on {_ITEMS[unknown]}{marks}"
    few = dict.fromkeys(each["few"] for each in results if each["shared_items"] and "few" in each)
    if few:
        yield f"{FEW_MARK} {'; '.join(FEW_NOTES[each] for each in few)}"
    yield from filter(None, (_seeds(run, results) for run in document["runs"] if "seeds" in run))
    yield from _chances(groups)
    rows = set(rows_of(document))
    shown = [result for result in results if result["run"] in rows]
    names = short_names(list(dict.fromkeys(each["run"] for each in shown)), name_room(LONGEST))
    for group in groups:
        yield from _association_lines(group, names)
    yield from _notes(shown, names)


def print_held_out(rows: Sequence[HeldOutRow]) -> None:
    """Print the held-out losses of comparable runs, best first."""
    names = short_names([row.run for row in rows], name_room(LONGEST))
    rows = sorted(rows, key=lambda row: row.loss.mean)
    unit = "bits per character" if rows[0].bits else "loss"
    print_table(
        ("held-out loss", unit, "over seeds", "difference from the best"),
        [
            [
                names[row.run],
                str(row.loss),
                "" if row.deviation is None else f"±{row.deviation:.4f}",
                "" if row.behind is None else str(row.behind),
            ]
            for row in rows
        ],
    )
    seeds = " and with that over seeds" if any(row.deviation is not None for row in rows) else ""
    print(
        f"± standard error over {rows[0].loss.n_units} held-out units; of a difference, paired by "
        f"unit{seeds}"
    )


def _seeds(run: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str:
    """Return the legend line of a row of several seeds; empty if it has no score."""
    scored = {each["seeds"] for each in results if each["run"] == run["run"]}
    total = len(run["seeds"])
    averaged = " to ".join(map(str, sorted(scored))) if scored != {total} else str(total)
    of_all = "" if scored == {total} else f" of {total}"
    mean = f"{run['run']}: mean of {averaged}{of_all} seeds ± their standard deviation"
    return mean if scored else ""


def _number(result: Mapping[str, Any], mark: str) -> str:
    """Format a score with its deviation over seeds and its mark, signs aligned."""
    if result["score"] is None:
        return "undefined"
    spread = f" ±{bare(result['deviation'])}" if "deviation" in result else ""
    few = FEW_MARK if "few" in result else ""
    return f"{result['score']:6.3f}{spread} {mark}{few}".rstrip()


def _interval(result: Mapping[str, Any]) -> str:
    """Format an interval in three decimals without leading zeros."""
    if result["low"] is None or result["high"] is None:
        return ""
    return f"{bare(result['low'])} {bare(result['high'])}"


def _chances(groups: Sequence[ResultGroup]) -> Iterator[str]:
    """Yield the legend line of the chance levels of all sets if there are any."""
    by_set: dict[tuple[str, str, int], dict[str, str]] = {}
    for group in groups:
        if group.chance is not None:
            key = group.task, group.dataset, group.number
            by_set.setdefault(key, {})[group.metric] = bare(group.chance)
    parts = []
    for (_, name, _), levels in by_set.items():
        each = ", ".join(f"{metric} {level}" for metric, level in levels.items())
        same = set(levels.values())  # one level for all metrics is printed once
        parts.append(f"{name} {same.pop() if len(same) == 1 else each}")
    if parts:
        yield f"chance: {'; '.join(parts)} (guessing, or always the most frequent answer)"


def _association_lines(group: ResultGroup, names: Mapping[str, str]) -> Iterator[str]:
    """Yield list coverage and p-values of an association test on shared items."""
    where = group.section or group.dataset
    coverage = next(iter(group.results.values())).get("coverage")
    if coverage is not None:
        lists = (f"{name} {used}/{n}" for name, (used, n) in coverage.items())
        yield f"words: {where}: {', '.join(lists)}"
    found = [f"{names[run]} {each['p']:.4f}" for run, each in group.results.items() if "p" in each]
    if found:
        yield f"p: {where}: {', '.join(found)} (one-sided, permutations of the target words)"


def _notes(results: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[str]:
    """Yield reasons for undefined scores, counts of composed and zero vectors, and notes."""
    undefined: dict[tuple[str, str], dict[str, None]] = {}
    lines: dict[str, None] = {}
    for each in results:
        run, dataset, task = each["run"], each["dataset"], each["task"]
        if "reason" in each and each["shared_items"]:
            undefined.setdefault((names[run], each["reason"]), {})[dataset] = None
        if "section" in each or run in BASELINES or each["shared_items"]:
            continue
        # probes read an unknown word as a zero vector; elsewhere its item is left out
        unknown = task in KINDS and task_class(task).zero_if_unknown
        zero = "without a vector" if unknown else "with a zero vector"
        for kind, number, what in (
            ("composed", each.get("items_composed"), "composed of n-grams, pieces or parts"),
            ("unknown" if unknown else "zero", each.get("items_zero"), zero),
        ):
            if number:
                start, n_items = f"{names[run]} on {dataset}", each["items_used"]
                lines[f"{kind}: {start}: {number} of {n_items} items have a word {what}"] = None
    for (run, reason), places in undefined.items():
        yield f"undefined: {run} on {', '.join(places)}: {reason}"
    yield from lines
    for note in gather_notes(
        (each["run"], each["dataset"], each.get("section"), each["shared_items"], note_of(each))
        for each in results
    ):
        yield f"{', '.join(names[run] for run in note.runs)} on {note.subject}: {note.text}"
