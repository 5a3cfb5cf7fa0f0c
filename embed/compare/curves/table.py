"""Print a learning curve as tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from firth.corpora.common.console import bare, print_table
from firth.corpora.common.display import html_table
from firth.embed.compare.scoring.notes import FEW_MARK

_MAX_WIDTH = 100  # characters
_BETWEEN = 3  # characters between columns
_LINES = (
    "all: items covered by all runs; own: all items covered by each run of the row",
    "in brackets: 95 % bootstrap interval over items; ±: standard deviation over seeds",
)


@dataclass(frozen=True, eq=False)
class CurveGroup:
    """Results of one metric on one set or section, on shared items or on all items of each run."""

    task: str
    dataset: str
    section: str | None  # None for the whole set
    metric: str
    shared: bool  # on the items covered by all runs
    items_total: int  # items of the set
    # (method, training tokens) -> entry; tokens are None for baselines
    results: Mapping[tuple[str, int | None], Mapping[str, Any]]

    @property
    def about(self) -> str:
        """The set, and its section if it is one."""
        return ", ".join(filter(None, (self.dataset, self.section)))


def group_curve_results(document: Mapping[str, Any]) -> list[CurveGroup]:
    """Group the results of a learning curve by set, section, metric and choice of items."""

    def what(entry: Mapping[str, Any]) -> tuple[str, str, str | None, str, bool, int]:
        return (
            entry["task"], entry["dataset"], entry.get("section"), entry["metric"],
            entry["shared_items"], entry["items_total"],
        )  # fmt: skip

    return [
        CurveGroup(*group, {(entry["method"], entry["tokens"]): entry for entry in entries})
        # adjacent entries only: two sets may share a name
        for group, entries in groupby(document["results"], key=what)
    ]


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
    groups = group_curve_results(document)
    for shared, own in zip(groups[::2], groups[1::2], strict=True):
        title = f"{shared.about}, {shared.metric} ({shared.items_total:,} items)"
        yield title, _table(shared, own, document["methods"], document["sizes"]), _baselines(shared)


def _legend(document: Mapping[str, Any]) -> list[str]:
    """Return the lines that explain the cells and marks of the tables."""
    few = dict.fromkeys(entry["remark"] for entry in document["results"] if "remark" in entry)
    return [*_LINES, *([f"{FEW_MARK} {'; '.join(few)}"] if few else [])]


def _table(
    shared: CurveGroup, own: CurveGroup, methods: Sequence[str], sizes: Sequence[int]
) -> list[list[str]]:
    """Return headings and rows: tokens, items, and one cell per method; shared items first."""
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


def _of_runs(group: CurveGroup) -> list[Mapping[str, Any]]:
    """Return the results of runs, without the baselines."""
    return [entry for (_, tokens), entry in group.results.items() if tokens is not None]


def _items(group: CurveGroup, tokens: int) -> str:
    """Format the number of items that a row's scores are based on."""
    used = sorted({entry["items_used"] for entry in _of_runs(group) if entry["tokens"] == tokens})
    return (
        f"{'all' if group.shared else 'own'} {'-'.join(f'{n:,}' for n in used[:1] + used[1:][-1:])}"
    )


def _baselines(group: CurveGroup) -> str:
    """Format the baselines' scores on shared items."""
    return ", ".join(
        f"{method} {_score(entry).strip()}"
        for (method, tokens), entry in group.results.items()
        if tokens is None
    )


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


def _cell(group: CurveGroup, method: str, tokens: int) -> str:
    """Format a score; a dash if nothing was trained."""
    entry = group.results.get((method, tokens))
    return "-" if entry is None else _score(entry)


def _score(entry: Mapping[str, Any]) -> str:
    """Format a score with deviation and interval: `` 0.512 ±.008 [.440 .580]``."""
    if entry["score"] is None:
        return "undefined"
    deviation, ends = entry.get("deviation"), (entry["low"], entry["high"])
    seeds = "" if deviation is None else f" ±{bare(deviation)}"
    interval = "" if None in ends else f" [{' '.join(map(bare, ends))}]"
    few = FEW_MARK if "remark" in entry else ""
    return f"{entry['score']:6.3f}{few}{seeds}{interval}"
