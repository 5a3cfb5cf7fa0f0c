"""Draw a learning curve: scores against tokens, one panel per set and metric."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.figures import (
    COLORS,
    Picture,
    new_figure,
    picture_kind,
    picture_style,
    write_figure,
)
from firth.corpora.common.console import human
from firth.embed.compare.curves.table import Points, by_point, readable_sizes
from firth.embed.compare.inputs.baselines import RANDOM
from firth.embed.compare.report.document import ResultGroup, group_results

_STYLES = tuple(
    zip(COLORS, "os^Dv", strict=False)
)  # distinct markers, for readers who do not see color
_PANEL = (3.9, 3.4)  # width and height with title and labels, inches
_LEGENDS = 0.6  # inches
_ACROSS = 3  # panels in a row
_BAND, _EDGE = 0.12, 0.45  # opacity
_SHARED, _OWN, _RANDOM = "solid", "dashed", "dotted"
_LINES: Any = {
    _SHARED: "items covered by all runs, with 95 % intervals",
    _OWN: "all items covered by each run",
    _RANDOM: "random vectors",
}
_GRAY = "#555555"
_TICK_SPACING = 0.13  # least distance of two labels, as a share of the axis


def draw_curve(document: Mapping[str, Any], path: Path, *, force: bool = False) -> Picture:
    """Draw every set and metric, and write the picture."""
    picture_kind(path)
    with picture_style():
        return write_figure(_lay_out(document), path, force=force)


def _lay_out(document: Mapping[str, Any]) -> Any:
    """Lay out panels of equal size in rows, below a legend of methods and one of line styles."""
    groups = group_results(document)
    across = min(_ACROSS, len(groups))
    down = math.ceil(len(groups) / across)
    figure = new_figure(_PANEL[0] * across, _LEGENDS + _PANEL[1] * down)
    figure.set_layout_engine("constrained", h_pad=0.1, w_pad=0.1)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, group in zip(panels, groups, strict=False):
        _draw(axes, group, document["methods"], document["sizes"])
    for axes in panels[len(groups) :]:
        axes.remove()
    _add_legends(figure)
    return figure


def _add_legends(figure: Any) -> None:
    from matplotlib.lines import Line2D

    methods, names = figure.axes[0].get_legend_handles_labels()
    kinds = [Line2D([], [], color=_GRAY, linestyle=kind, linewidth=1.2) for kind in _LINES]
    place: Any = {"loc": "outside upper left", "frameon": False}
    figure.legend(methods, names, ncols=len(names), **place)
    figure.legend(kinds, list(_LINES.values()), ncols=len(kinds), **place)


def _draw(axes: Any, group: ResultGroup, methods: Sequence[str], sizes: Sequence[int]) -> None:
    """Draw the lines of one set and metric."""
    shared, own = by_point(group.results), by_point(group.own)
    for number, method in enumerate(methods):
        color, marker = _STYLES[number % len(_STYLES)]
        scores, lows, highs = (_numbers(shared, method, sizes, n) for n in ("score", "low", "high"))
        axes.plot(sizes, scores, color=color, marker=marker, markersize=5, label=method)
        if len(sizes) > 1:
            axes.fill_between(sizes, lows, highs, color=color, alpha=_BAND, linewidth=0)
            for ends in (lows, highs):
                axes.plot(sizes, ends, color=color, alpha=_EDGE, linewidth=0.6)
        else:
            axes.vlines(sizes, lows, highs, color=color)
        every = _numbers(own, method, sizes, "score")
        axes.plot(sizes, every, color=color, linestyle=_OWN, linewidth=1)
    random = shared.get((RANDOM, None), {"score": None})["score"]
    if random is not None:
        axes.axhline(random, color=_GRAY, linestyle=_RANDOM, linewidth=1)
    axes.set_xscale("log")
    readable = readable_sizes(sizes, _TICK_SPACING)
    axes.set_xticks(sizes, [human(size) if size in readable else "" for size in sizes])
    axes.minorticks_off()
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("tokens")
    axes.set_title(_title(group), loc="left", fontsize=9, parse_math=False)


def _numbers(points: Points, method: str, sizes: Sequence[int], name: str) -> list[float]:
    """Return one field of each size; NaN, which leaves a gap, if missing."""
    found = [points.get((method, tokens), {}).get(name) for tokens in sizes]
    return [math.nan if number is None else number for number in found]


def _title(group: ResultGroup) -> str:
    """Return a title: set, metric, and the number of shared items."""
    n_items = max((entry["items_used"] for entry in group.results.values()), default=0)
    few = any("few" in entry for entry in group.results.values())
    marked = " (few: rough)" if few else ""
    return f"{group.about}, {group.metric}\n{n_items} of {group.items_total} items{marked}"
