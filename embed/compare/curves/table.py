"""Print a learning curve as tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from firth.corpora.common.console import bare, print_table
from firth.corpora.common.display import html_table
from firth.embed.compare.report.document import ResultGroup, group_results
from firth.embed.compare.scoring.notes import FEW_MARK, FEW_NOTES

_MAX_WIDTH = 100  # characters
_BETWEEN = 3  # characters between columns
_LINES = (
    "all: items covered by all runs; own: all items covered by each run of the row",
    "in brackets: 95 % bootstrap interval over items; ±: standard deviation over seeds",
)


Points = Mapping[tuple[str, int | None], Mapping[str, Any]]  # entries by method and tokens


def by_point(results: Mapping[str, Mapping[str, Any]]) -> Points:
    """Return results by method and training tokens, which are None for baselines."""
    return {(entry["method"], entry["tokens"]): entry for entry in results.values()}


def readable_sizes(sizes: Sequence[int], spacing: float) -> list[int]:
    """Return the sizes whose labels are ``spacing`` of a log axis apart, from the largest."""
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    readable = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if math.log(readable[-1] / size) >= spacing * span:
            readable.append(size)
    return readable


def print_curve(document: Mapping[str, Any]) -> None:
    """Print tables of at most 100 characters width: one row per size, one column per method."""
    for title, table, baselines in _tables(document):
        print(title)
        for columns in _side_by_side(table):
            print_table(columns[0], columns[1:])
        print(f"   {baselines}\n")
    print("\n".join(_legend(document)))


def html_curve(document: Mapping[str, Any]) -> str:
    """Return the tables that :func:`print_curve` prints as HTML."""
    tables = (
        html_table(rows[0], rows[1:], title, [baselines])
        for title, rows, baselines in _tables(document)
    )
    return "\n".join([*tables, *(f"<p>{escape(line)}</p>" for line in _legend(document))])


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, list[list[str]], str]]:
    """Yield title, headings with rows, and the baselines' scores of every set and metric."""
    for group in group_results(document):
        title = f"{group.about}, {group.metric} ({group.items_total:,} items)"
        of_baselines = (entry for entry in group.results.values() if entry["tokens"] is None)
        baselines = (f"{entry['method']} {_score(entry).strip()}" for entry in of_baselines)
        table = _table(group, document["methods"], document["sizes"])
        yield title, table, ", ".join(baselines)


def _legend(document: Mapping[str, Any]) -> list[str]:
    """Return the lines that explain the cells and marks of the tables."""
    few = dict.fromkeys(FEW_NOTES[each["few"]] for each in document["results"] if "few" in each)
    return [*_LINES, *([f"{FEW_MARK} {'; '.join(few)}"] if few else [])]


def _table(group: ResultGroup, methods: Sequence[str], sizes: Sequence[int]) -> list[list[str]]:
    """Return headings and rows: tokens, items, and one cell per method; shared items first."""
    table = [["tokens", "items", *methods]]
    for name, results in (("all", group.results), ("own", group.own)):
        of_runs = [entry for entry in results.values() if entry["tokens"] is not None]
        if name == "all" or len({entry["items_used"] for entry in of_runs}) > 1:
            points = by_point(results)
            table += [
                [
                    f"{tokens:,}",
                    f"{name} {_items([e for e in of_runs if e['tokens'] == tokens])}",
                    *(_score(points.get((method, tokens))) for method in methods),
                ]
                for tokens in sizes
            ]
    return table


def _items(entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the number of items that scores are based on, or its range."""
    used = sorted({entry["items_used"] for entry in entries})
    return "-".join(f"{n:,}" for n in used[:1] + used[1:][-1:])


def _side_by_side(table: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """Split a wide table into tables that fit; tokens and items are repeated in each."""
    widths = [_BETWEEN + max(map(len, column)) for column in zip(*table, strict=True)]
    left, chosen = _MAX_WIDTH - 2 - sum(widths[:2]), list[int]()  # 2 for the edges
    for column in range(2, len(widths)):
        if chosen and sum(widths[n] for n in chosen) + widths[column] > left:
            yield [[*row[:2], *(row[n] for n in chosen)] for row in table]
            chosen = []
        chosen.append(column)
    yield [[*row[:2], *(row[n] for n in chosen)] for row in table]


def _score(entry: Mapping[str, Any] | None) -> str:
    """Format a score as `` 0.512 ±.008 [.440 .580]``; a dash if nothing was trained."""
    if entry is None:
        return "-"
    if entry["score"] is None:
        return "undefined"
    deviation, ends = entry.get("deviation"), (entry["low"], entry["high"])
    seeds = "" if deviation is None else f" ±{bare(deviation)}"
    interval = "" if None in ends else f" [{' '.join(map(bare, ends))}]"
    few = FEW_MARK if "few" in entry else ""
    return f"{entry['score']:6.3f}{few}{seeds}{interval}"
