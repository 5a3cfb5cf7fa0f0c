"""The differences of every two runs in a report: a matrix for each set and metric."""

from collections.abc import Mapping, Sequence

from embed.compare.page_html import Html, chance, decimal, fold, join, name, table, tag
from embed.compare.page_intervals import Look
from embed.compare.page_scores import metric_name, set_name
from embed.compare.panels import Panel
from embed.compare.report import SURE


def show_differences(panels: Sequence[Panel], looks: Mapping[str, Look]) -> Html:
    """Show how far every run is ahead of every other, a matrix for each set and metric.

    Parameters
    ----------
    panels : sequence of Panel
        Those without pairs are left out.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        Parts that open, the first of them open.
    """
    with_pairs = [panel for panel in panels if panel.pairs]
    return join(
        (
            fold(_verdict(panel, looks), _matrix(panel, looks), opened=index == 0)
            for index, panel in enumerate(with_pairs)
        ),
        "\n",
    )


def _verdict(panel: Panel, looks: Mapping[str, Look]) -> Html:
    """The line above a matrix: the set, and who is best."""
    heading = tag("b", name(set_name(panel)), ", ", metric_name(panel.metric))
    if not panel.ranked:
        return join([heading, ": a higher score is no better one"])
    best = join((name(looks[run].name) for run in panel.results if run in panel.best), ", ")
    equal = join((name(looks[run].name) for run in panel.results if run in panel.equals), ", ")
    return join([heading, ": best ", best, *([", not told from it: ", equal] if equal else [])])


def _matrix(panel: Panel, looks: Mapping[str, Look]) -> Html:
    """The score of the row less that of the column."""
    runs = [run for run in panel.results if any(run in pair for pair in panel.pairs)]
    rows = (
        tag(
            "tr",
            tag("th", looks[row].show(), scope="row"),
            *(_difference(panel, row, column) for column in runs),
        )
        for row in runs
    )
    told = "row less column, 95 % interval, p after Holm’s correction"
    caption = join([name(set_name(panel)), f", {metric_name(panel.metric)}: {told}"])
    return table(caption, ["", *(looks[run].show() for run in runs)], rows, class_="matrix")


def _difference(panel: Panel, row: str, column: str) -> Html:
    """One cell of a matrix."""
    entry, sign = panel.pairs.get((row, column)), 1
    if entry is None:
        entry, sign = panel.pairs.get((column, row)), -1
    if entry is None or entry["difference"] is None:
        return tag("td", "–" if row == column else tag("em", "undefined"), class_="none")
    difference = sign * entry["difference"]
    sure = entry["p"] is not None and entry["p"] <= SURE
    ends = sorted(sign * entry[end] for end in ("low", "high") if entry[end] is not None)
    shown = " to ".join(decimal(end) for end in ends)
    return tag(
        "td",
        tag("b" if sure else "span", decimal(difference, signed=True), class_="figure"),
        tag("small", shown) if shown else None,
        tag("small", chance(entry["p"])),
        class_=("ahead" if difference > 0 else "behind") if sure and panel.ranked else "unsure",
    )
