"""Scores drawn with their intervals: a small panel for each set and metric, a row for each run.

Rows stand in the order in which the runs were given, in every panel the same,
so that a run is found at the same height everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.artifacts.figures import (
    COLORS,
    MARKERS,
    new_figure,
    picture_kind,
    picture_style,
    text_width,
    truncate_to_width,
    write_figure,
)
from corpora.common.errors import SettingError
from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.report.result_groups import ResultGroup, group_results, rows_of
from embed.compare.report.table import short_names
from embed.compare.statistics.ranking import ALPHA

_GREY, _PALE = "#767676", "#e6e6e6"
_COLUMNS = 4  # panels beside each other
_WIDTH, _EDGE = 10.0, 0.12  # all lengths in inches
_ROW, _HEAD, _TITLE, _TICKS, _GAP = 0.19, 0.26, 0.2, 0.3, 0.1
_NUMBER = 0.64  # right of a panel, for the scores
_FOOT = 0.42
_POINTS, _SMALL = 8.0, 7.0
_LEGEND = (
    "point: score; line: 95 % interval; thick line: ± deviation over seeds; n: items scored",
    f"filled: the best, and what cannot be told from it (p > {ALPHA:g}, Holm); hollow: the others",
)


@dataclass(frozen=True)
class _Block:
    """The panels of one set, or of one of its sections."""

    task: str
    name: str
    panels: Sequence[ResultGroup]


@dataclass(frozen=True)
class _Look:
    """How a run is called and drawn."""

    name: str
    color: str
    marker: str


def draw_scores(document: Mapping[str, Any], path: Path, *, force: bool = False) -> None:
    """Draw the scores on shared items, with their intervals, and write the picture.

    Runs of one method share a color if there are several methods. The same
    document gives the same bytes of SVG.
    """
    picture_kind(path)
    blocks = _blocks(document)
    if not blocks:
        raise SettingError(f"{path}: there is no score to draw")
    looks = _looks(document, blocks)
    with picture_style():
        write_figure(_lay_out(list(_lines(blocks)), looks), path, force=force)


def _blocks(document: Mapping[str, Any]) -> list[_Block]:
    """Results on shared items by set and section, then by metric, in the order of the first."""
    found: dict[tuple[str, str, str | None, int], list[ResultGroup]] = {}
    for panel in group_results(document):
        place = panel.task, panel.dataset, panel.section, panel.number
        found.setdefault(place, []).append(panel)
    return [
        _Block(task, dataset if section is None else f"{dataset}: {section}", panels)
        for (task, dataset, section, _), panels in found.items()
    ]


def _looks(document: Mapping[str, Any], blocks: Sequence[_Block]) -> dict[str, _Look]:
    """Names, colors and markers, by run: baselines grey, runs of one method alike in color."""
    methods = {run["run"]: str(run.get("method")) for run in document["runs"]}
    results = [r for block in blocks for panel in block.panels for r in panel.results.values()]
    seeds = {r["run"]: r["seeds"] for r in results if r.get("seeds")}
    runs = rows_of(document)
    by_method = len({methods.get(run) for run in runs if run not in (ONE_HOT, RANDOM)}) > 1
    groups: dict[str, list[str]] = {}
    for run in runs:
        if run not in (ONE_HOT, RANDOM):
            groups.setdefault(methods.get(run, run) if by_method else run, []).append(run)
    looks = {}
    names = short_names(runs)
    for run in runs:
        name = f"{names[run]} ({seeds[run]} seeds)" if run in seeds else names[run]
        looks[run] = _Look(name, _GREY, "o")
        for number, members in enumerate(groups.values()):
            if run in members:
                color = COLORS[number % len(COLORS)]
                turn = number // len(COLORS) + members.index(run)
                looks[run] = _Look(name, color, MARKERS[turn % len(MARKERS)])
    return looks


def _lines(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Blocks beside each other, of one task, as long as there is room; never divided in vain."""
    line: list[_Block] = []
    for block in blocks:
        for start in range(0, len(block.panels), _COLUMNS):
            part = _Block(block.task, block.name, block.panels[start : start + _COLUMNS])
            used = sum(len(other.panels) for other in line)
            if line and (line[0].task != part.task or used + len(part.panels) > _COLUMNS):
                yield line
                line = []
            line.append(part)
    if line:
        yield line


def _runs_of(line: Sequence[_Block], looks: Mapping[str, _Look]) -> list[str]:
    """The runs that any panel of a line has, in the order of all."""
    present = {run for block in line for panel in block.panels for run in panel.results}
    return [run for run in looks if run in present]


def _lay_out(lines: Sequence[Sequence[_Block]], looks: Mapping[str, _Look]) -> Any:
    """Lines of panels below each other, the names of the runs at their left."""
    left = 2 * _EDGE + max(text_width(look.name, _POINTS) for look in looks.values())
    columns = max(sum(len(block.panels) for block in line) for line in lines)
    step = (_WIDTH - left - _EDGE) / columns
    heights = [_HEAD + _TITLE + _ROW * len(_runs_of(line, looks)) + _TICKS + _GAP for line in lines]
    height = _EDGE + sum(heights) + _FOOT
    figure = new_figure(_WIDTH, height)
    top = _EDGE
    for line, tall in zip(lines, heights, strict=True):
        runs = _runs_of(line, looks)
        column = 0
        for block in line:
            x = left + column * step
            last = block is line[-1]
            room = (columns - column if last else len(block.panels)) * step - _EDGE
            name = truncate_to_width(block.name, _POINTS + 1, room, bold=True)
            _say(figure, x, top + _HEAD / 2, name, weight="bold", fontsize=_POINTS + 1)
            for panel in block.panels:
                x = left + column * step
                box = (x, top + _HEAD + _TITLE, step - _NUMBER, _ROW * len(runs))
                _draw(figure, box, panel, {run: looks[run] for run in runs}, named=column == 0)
                column += 1
        top += tall
    for number, text in enumerate(_LEGEND):
        y = height - _FOOT + 0.1 + 0.16 * number
        _say(figure, left, y, text, color=_GREY, fontsize=_SMALL + 0.5)
    return figure


def _say(figure: Any, x: float, y: float, text: str, **style: Any) -> None:
    """Write at a place, in inches from the upper left corner of the figure."""
    width, height = figure.get_size_inches()
    style = {"va": "center", "parse_math": False, **style}
    figure.text(x / width, 1 - y / height, text, **style)


def _draw(
    figure: Any,
    box: tuple[float, float, float, float],
    panel: ResultGroup,
    looks: Mapping[str, _Look],
    *,
    named: bool,
) -> None:
    """One panel: title, scale, and a row for each run."""
    from matplotlib.ticker import MaxNLocator

    x, y, wide, high = box
    width, height = figure.get_size_inches()
    axes = figure.add_axes((x / width, 1 - (y + high) / height, wide / width, high / height))
    axes.set(ylim=(len(looks) - 0.5, -0.5), xlim=_limits(panel), axisbelow=True, yticks=[])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(_GREY)
    axes.hlines(range(len(looks)), *axes.get_xlim(), color=_PALE, lw=0.6, zorder=0)
    if any(result["score"] is not None for result in panel.results.values()):
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    else:
        axes.set_xticks([])
    axes.grid(axis="x", color=_PALE, lw=0.6)
    axes.tick_params(labelsize=_SMALL, length=2, color=_GREY, labelcolor="#444444")
    _say(figure, x, y - _TITLE / 2, panel.metric.removeprefix("accuracy_"), fontsize=_POINTS)
    n_items = f"n = {max((r['items_used'] for r in panel.results.values()), default=0):,}"
    _say(figure, x + wide, y - _TITLE / 2, n_items, ha="right", color=_GREY, fontsize=_SMALL)
    for row, (run, look) in enumerate(looks.items()):
        middle = y + _ROW * (row + 0.5)
        if named:
            _say(figure, x - _EDGE, middle, look.name, ha="right", fontsize=_POINTS)
        result = panel.results.get(run)
        if result is None or result["score"] is None:
            words = "not scored" if result is None else _undefined(result)
            shown = truncate_to_width(words, _SMALL, wide + _NUMBER - 0.1)
            _say(figure, x, middle, shown, color=_GREY, style="italic", fontsize=_SMALL)
            continue
        _draw_row(axes, row, result, look, hollow=run in panel.worse)
        number = f"{result['score']:.3f}".replace("-", "−")
        _say(figure, x + wide + 0.42, middle, number, ha="right", fontsize=_SMALL, color="#444444")


def _limits(panel: ResultGroup) -> tuple[float, float]:
    """The scale: all that is drawn, and a little room."""
    ends = []
    for result in panel.results.values():
        score = result["score"]
        if score is not None:
            spread = result.get("deviation") or 0.0
            ends += [score - spread, score + spread]
            ends += [end for end in (result["low"], result["high"]) if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    room = max(0.05 * (high - low), 0.01)
    return low - room, high + room


def _draw_row(axes: Any, row: int, result: Mapping[str, Any], look: _Look, *, hollow: bool) -> None:
    """Interval, deviation over seeds, and point."""
    score, spread = result["score"], result.get("deviation")
    if result["low"] is not None and result["high"] is not None:
        axes.hlines(row, result["low"], result["high"], color=look.color, lw=1.2)
    if spread is not None:
        axes.hlines(row, score - spread, score + spread, color=look.color, lw=6, alpha=0.35)
    face = "white" if hollow else look.color
    style = {"ms": 5, "mew": 1.2, "mec": look.color, "mfc": face, "clip_on": False}
    axes.plot(score, row, look.marker, **style)


def _undefined(result: Mapping[str, Any]) -> str:
    """Why there is no score."""
    reason = result.get("reason")
    return f"undefined: {reason}" if reason else "undefined"
