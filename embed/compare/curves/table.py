"""Show a learning curve as tables for eyes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from corpora.common.console import print_table

_MOST_COLUMNS = 100
_BETWEEN = 3  # columns of space
_LEGEND = (
    "all: the items that all runs know; own: all that each of the row knows itself\n"
    "in brackets, where other items would have put 95 % of the scores; ± deviation over seeds"
)


@dataclass(frozen=True, eq=False)
class CurveGroup:
    """One metric of one set, on the items that all runs know or on all that each knows."""

    task: str  # what is measured
    dataset: str  # what is measured
    metric: str  # what is measured
    shared: bool  # whether the items are those that all runs know
    items_total: int  # of the set
    # by method and tokens; baselines have None
    results: Mapping[tuple[str, int | None], Mapping[str, Any]]


def group_curve_results(document: Mapping[str, Any]) -> list[CurveGroup]:
    """Divide the results of a learning curve by what they measure."""
    return [
        CurveGroup(*what, {(entry["method"], entry["tokens"]): entry for entry in entries})
        for what, entries in (
            # neighbors only: two sets may share a name
            (what, list(run))
            for what, run in groupby(document["results"], key=_what)
        )
    ]


def print_curve(document: Mapping[str, Any]) -> None:
    """Print tables of at most 100 columns, a row a size, a column a method."""
    groups = group_curve_results(document)
    for shared, own in zip(groups[::2], groups[1::2], strict=True):
        print(f"{shared.dataset}, {shared.metric} ({shared.items_total:,} items)")
        table = _table(shared, own, document["methods"], document["sizes"])
        for columns in _side_by_side(table):
            print_table(columns[0], columns[1:])
        print(f"   {_baselines(shared)}\n")
    print(_LEGEND)


def _table(
    shared: CurveGroup, own: CurveGroup, methods: Sequence[str], sizes: Sequence[int]
) -> list[list[str]]:
    """Headings and rows: tokens, items, and a cell a method; shared items first."""
    table = [["tokens", "items", *methods]]
    for group in (shared, own):
        if group.shared or len({entry["items_used"] for entry in _of_runs(own)}) > 1:
            table += [
                [
                    f"{tokens:,}",
                    _items(group, tokens),
                    *(_cell(group, method, tokens) for method in methods),
                ]
                for tokens in sizes
            ]
    return table


def _what(entry: Mapping[str, Any]) -> tuple[str, str, str, bool, int]:
    """What an entry measures."""
    return (
        entry["task"],
        entry["dataset"],
        entry["metric"],
        entry["shared_items"],
        entry["items_total"],
    )


def _of_runs(group: CurveGroup) -> list[Mapping[str, Any]]:
    """The results of runs, without the baselines."""
    return [entry for (_, tokens), entry in group.results.items() if tokens is not None]


def _items(group: CurveGroup, tokens: int) -> str:
    """How many items the scores of a row stand on."""
    used = sorted({entry["items_used"] for entry in _of_runs(group) if entry["tokens"] == tokens})
    return (
        f"{'all' if group.shared else 'own'} {'-'.join(f'{n:,}' for n in used[:1] + used[1:][-1:])}"
    )


def _baselines(group: CurveGroup) -> str:
    """What vectors that know nothing reach on the shared items."""
    return ", ".join(
        f"{method} {_score(entry).strip()}"
        for (method, tokens), entry in group.results.items()
        if tokens is None
    )


def _side_by_side(table: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """The table with as many methods at a time as fit; tokens and items stand in all."""
    widths = [_BETWEEN + max(map(len, column)) for column in zip(*table, strict=True)]
    left, chosen = _MOST_COLUMNS - 2 - sum(widths[:2]), list[int]()  # 2: at the edges
    for column in range(2, len(widths)):
        if chosen and sum(widths[n] for n in chosen) + widths[column] > left:
            yield [[*row[:2], *(row[n] for n in chosen)] for row in table]
            chosen = []
        chosen.append(column)
    yield [[*row[:2], *(row[n] for n in chosen)] for row in table]


def _cell(group: CurveGroup, method: str, tokens: int) -> str:
    """A score; a dash where nothing was trained."""
    entry = group.results.get((method, tokens))
    return "-" if entry is None else _score(entry)


def _score(entry: Mapping[str, Any]) -> str:
    """A score with what is known of its chance, such as `` 0.512 ±.008 [.440 .580]``."""
    if entry["score"] is None:
        return "undefined"
    deviation, ends = entry.get("deviation"), (entry["low"], entry["high"])
    seeds = "" if deviation is None else f" ±{_short(deviation)}"
    interval = "" if None in ends else f" [{' '.join(map(_short, ends))}]"
    return f"{entry['score']:6.3f}{seeds}{interval}"


def _short(number: float) -> str:
    """Three decimals, as is usual without the zero before the point."""
    return f"{number:.3f}".replace("0.", ".", 1)
