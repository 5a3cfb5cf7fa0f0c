"""Learning curves drawn for a report: scores over tokens, a picture for each set and metric."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corpora.common.console import human
from embed.compare.curves.table import Panel, panels_of
from embed.compare.inputs.baselines import RANDOM
from embed.compare.report.html.escape import Html, decimal, fold, join, name, table, tag
from embed.compare.report.html.intervals import Scale, color_of, interval_text, key, scale_of
from embed.compare.report.html.scores import metric_name

_WIDE, _HIGH = 360.0, 230.0
_LEFT, _RIGHT, _TOP, _BELOW = 48.0, 14.0, 8.0, 26.0  # around what is drawn
_NEAREST = 46.0  # between two names of sizes


def show_curve(document: Mapping[str, Any]) -> Html:
    """Draw a learning curve, and tell its numbers.

    Parameters
    ----------
    document : mapping
        As ``curve.json`` of ``firth learning-curve`` holds it.

    Returns
    -------
    Html
        A picture and a table for each set and metric.
    """
    methods = document["methods"]
    legend = [
        tag("li", key(color_of(number)), name(method)) for number, method in enumerate(methods)
    ]
    panels = [panel for panel in panels_of(document) if panel.shared]
    figures = [_figure(panel, methods, document["sizes"]) for panel in panels]
    numbers = [_table(panel, methods, document["sizes"]) for panel in panels]
    about = ("Trained on nested samples of ", name(str(document["corpus"])), "; ")
    return join(
        [
            tag("p", *about, "scores on the items that all runs know, bands are 95 % intervals, "
                "the dotted line is random vectors."),
            tag("ul", *legend, class_="legend"),
            tag("div", *figures, class_="figures"),
            fold("The numbers of these curves", *numbers),
        ],
        "\n",
    )  # fmt: skip


def _figure(panel: Panel, methods: Sequence[str], sizes: Sequence[int]) -> Html:
    """The lines of one set and metric."""
    scale = scale_of(list(panel.results.values()))
    lines = [
        line
        for number, method in enumerate(methods)
        for line in _lines(_entries(panel, method, sizes), scale, sizes, color_of(number))
    ]
    chance = panel.results.get((RANDOM, None), {"score": None})["score"]
    if chance is not None:
        y = _y(chance, scale)
        lines.append(tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}", class_="dotted"))
    title = f"{panel.dataset}, {metric_name(panel.metric)}"
    picture = tag(
        "svg", *_frame(scale, sizes), *lines, class_="curve", role="img",
        viewBox=f"0 0 {_WIDE:.0f} {_HIGH:.0f}",
        aria_label=f"{title}: scores over tokens; the numbers are in the table below",
    )  # fmt: skip
    return tag("figure", tag("figcaption", title), picture)


def _entries(
    panel: Panel, method: str, sizes: Sequence[int]
) -> list[tuple[int, Mapping[str, Any]]]:
    """Size and result of one method, where it has a score."""
    found = ((size, panel.results.get((method, size))) for size in sizes)
    return [(size, entry) for size, entry in found if entry and entry["score"] is not None]


def _lines(
    entries: Sequence[tuple[int, Mapping[str, Any]]], scale: Scale, sizes: Sequence[int], color: str
) -> Iterator[Html]:
    """Band, line and points of one method."""
    ends = [(size, entry) for size, entry in entries if entry["low"] is not None]
    if ends:
        there = [f"{_x(size, sizes):.1f} {_y(entry['high'], scale):.1f}" for size, entry in ends]
        back = [f"{_x(size, sizes):.1f} {_y(entry['low'], scale):.1f}" for size, entry in ends]
        yield tag("path", d=f"M{'L'.join([*there, *back[::-1]])}Z", class_=f"band {color}")
    points = [(_x(size, sizes), _y(entry["score"], scale)) for size, entry in entries]
    if points:
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield tag("path", d=f"M{way}", class_=f"line {color}")
    for x, y in points:
        yield tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, class_=f"dot {color}")


def _frame(scale: Scale, sizes: Sequence[int]) -> Iterator[Html]:
    """Lines at round scores, and the sizes below."""
    step = _step(scale)
    for number in range(math.ceil(scale.low / step - 1e-9), int(scale.high / step + 1e-9) + 1):
        score = number * step
        y = _y(score, scale)
        yield tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}", class_="rail")
        yield tag("text", decimal(score, 2), x=f"{_LEFT - 4:.0f}", y=f"{y + 4:.1f}", class_="end")
    after = math.inf
    for size in reversed(sizes):
        x = _x(size, sizes)
        if after - x >= _NEAREST:
            yield tag("text", human(size), x=f"{x:.1f}", y=f"{_HIGH - 8:.0f}", class_="below")
            after = x


def _step(scale: Scale) -> float:
    """The least round distance of which no more than six lines have room."""
    power = 10.0 ** math.floor(math.log10((scale.high - scale.low) / 5))
    return next(power * n for n in (1, 2, 5, 10) if (scale.high - scale.low) / (power * n) <= 5)


def _x(size: int, sizes: Sequence[int]) -> float:
    """Where a size stands: its logarithm counts."""
    span = math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 0.0
    share = math.log(size / sizes[0]) / span if span else 0.5
    return _LEFT + 14 + share * (_WIDE - _LEFT - _RIGHT - 28)


def _y(score: float, scale: Scale) -> float:
    """Where a score stands."""
    share = (score - scale.low) / (scale.high - scale.low)
    return _HIGH - _BELOW - share * (_HIGH - _TOP - _BELOW)


def _table(panel: Panel, methods: Sequence[str], sizes: Sequence[int]) -> Html:
    """A row a size, a column a method."""
    rows = (
        tag(
            "tr",
            tag("th", f"{size:,}", scope="row", class_="number"),
            *(_cell(panel.results.get((method, size))) for method in methods),
        )
        for size in sizes
    )
    used = max((entry["items_used"] for entry in panel.results.values()), default=0)
    title = f"{panel.dataset}, {metric_name(panel.metric)}"
    caption = f"{title}, on {used:,} of {panel.items_total:,} items"
    return table(caption, ("Tokens", *map(name, methods)), rows)


def _cell(entry: Mapping[str, Any] | None) -> Html:
    """A score with its interval."""
    if entry is None or entry["score"] is None:
        return tag("td", "–" if entry is None else tag("em", "undefined"), class_="number")
    ends = interval_text(entry)
    return tag("td", decimal(entry["score"]), tag("small", f" {ends}"), class_="number")
