"""The differences of every two runs in a report: a matrix for each set and metric."""

from collections.abc import Iterator, Mapping, Sequence

from embed.compare.report.html.escape import Html, chance, decimal, fold, join, name, table, tag
from embed.compare.report.html.intervals import Look
from embed.compare.report.html.scores import metric_name, set_name
from embed.compare.report.result_groups import ScorePanel
from embed.compare.scoring.frequency_bands import EDGES
from embed.compare.statistics.ranking import SURE


def show_differences(
    whole: Sequence[ScorePanel],
    bands: Sequence[ScorePanel],
    further: Sequence[ScorePanel],
    looks: Mapping[str, Look],
) -> Html:
    """Show how far every run is ahead of every other, a matrix for each set and metric.

    Parameters
    ----------
    whole, bands, further : sequence of ScorePanel
        Of whole sets, of bands of frequency, and of sections; those without pairs are left out.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        Parts that open, the first of them open.
    """
    shown = list(_matrices(whole, looks, n_open=1))
    for heading, panels in (("By frequency", bands), ("By section", further)):
        parts = list(_matrices(panels, looks))
        if parts:
            shown.append(fold(tag("b", heading), tag("div", *parts, class_="inner")))
    return join(shown, "\n")


def _matrices(
    panels: Sequence[ScorePanel], looks: Mapping[str, Look], n_open: int = 0
) -> Iterator[Html]:
    """A part for each set and metric, the first ones open."""
    for index, panel in enumerate(panel for panel in panels if panel.pairs):
        yield fold(_verdict(panel, looks), _matrix(panel, looks), opened=index < n_open)


def _what(panel: ScorePanel) -> Iterator[Html | str]:
    """What a matrix is of: the set, its section or band, the metric."""
    yield name(set_name(panel))
    if panel.section in EDGES:
        yield f", {panel.section}"
    yield f", {metric_name(panel.metric)}"


def _verdict(panel: ScorePanel, looks: Mapping[str, Look]) -> Html:
    """The line above a matrix: the set, and who is best."""
    heading = tag("b", *_what(panel))
    if not panel.ranked:
        return join([heading, ": a higher score is no better one"])
    best = join((name(looks[run].name) for run in panel.results if run in panel.best), ", ")
    equal = join((name(looks[run].name) for run in panel.results if run in panel.equals), ", ")
    return join([heading, ": best ", best, *([", not told from it: ", equal] if equal else [])])


def _matrix(panel: ScorePanel, looks: Mapping[str, Look]) -> Html:
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
    caption = join([*_what(panel), f": {told}"])
    return table(caption, ["", *(looks[run].show() for run in runs)], rows, class_="matrix")


def _difference(panel: ScorePanel, row: str, column: str) -> Html:
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
