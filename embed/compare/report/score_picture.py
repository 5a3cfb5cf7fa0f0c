"""Draw scores with their intervals: a panel for each set and metric, a row for each run.

Rows are in the same order in every panel, that of the runs in the comparison.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.figures import (
    COLORS,
    MARKERS,
    Picture,
    new_figure,
    picture_kind,
    picture_style,
    text_width,
    truncate_to_width,
    write_figure,
)
from firth.corpora.common.errors import SettingError
from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.report.document import ResultGroup, group_results, rows_of
from firth.embed.compare.report.names import short_names
from firth.embed.compare.statistics.ranking import ALPHA

_GRAY, _PALE = "#767676", "#e6e6e6"
_COLUMNS = 4  # panels side by side
_WIDTH, _EDGE = 10.0, 0.12  # all lengths in inches
_ROW, _HEAD, _TITLE, _TICKS, _GAP = 0.19, 0.26, 0.2, 0.3, 0.1
_NUMBER = 0.64  # right of a panel, for the scores
_FOOT = 0.42
_POINTS, _SMALL = 8.0, 7.0
_LEGEND = (
    "point: score; line: 95 % interval; thick line: ± deviation over seeds; n: items scored",
    f"filled: best, or no significant difference from it (p > {ALPHA:g}, Holm); hollow: others",
)


_Block = Sequence[ResultGroup]  # metrics of one set or section, drawn as panels side by side


@dataclass(frozen=True)
class _RunStyle:
    """Name, color and marker of a run."""

    name: str
    color: str
    marker: str


def draw_scores(document: Mapping[str, Any], path: Path, *, force: bool = False) -> Picture:
    """Draw the scores on shared items with their intervals, and write the picture."""
    picture_kind(path)
    blocks = _blocks(document)
    if not blocks:
        raise SettingError(f"{path}: there is no score to draw")
    styles = _styles(document, blocks)
    with picture_style():
        return write_figure(_lay_out(list(_lines(blocks)), styles), path, force=force)


def _blocks(document: Mapping[str, Any]) -> list[_Block]:
    """Group results on shared items by set and section."""
    found: dict[tuple[str, str, str | None, int], list[ResultGroup]] = {}
    for group in group_results(document):
        key = group.task, group.dataset, group.section, group.number
        found.setdefault(key, []).append(group)
    return list(found.values())


def _styles(document: Mapping[str, Any], blocks: Sequence[_Block]) -> dict[str, _RunStyle]:
    """Assign styles to runs: baselines gray, runs of one method in one color."""
    methods = {run["run"]: str(run.get("method")) for run in document["runs"]}
    results = [r for block in blocks for group in block for r in group.results.values()]
    seeds = {r["run"]: r["seeds"] for r in results if r.get("seeds")}
    runs = rows_of(document)
    by_method = len({methods.get(run) for run in runs if run not in BASELINES}) > 1
    by_color: dict[str, list[str]] = {}
    for run in runs:
        if run not in BASELINES:
            by_color.setdefault(methods.get(run, run) if by_method else run, []).append(run)
    styles = {}
    names = short_names(runs)
    for run in runs:
        name = f"{names[run]} ({seeds[run]} seeds)" if run in seeds else names[run]
        styles[run] = _RunStyle(name, _GRAY, "o")
        for number, members in enumerate(by_color.values()):
            if run in members:
                color = COLORS[number % len(COLORS)]
                turn = number // len(COLORS) + members.index(run)
                styles[run] = _RunStyle(name, color, MARKERS[turn % len(MARKERS)])
    return styles


def _lines(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Arrange blocks in lines of one task and at most ``_COLUMNS`` panels; split wider blocks."""
    line: list[_Block] = []
    for block in blocks:
        for start in range(0, len(block), _COLUMNS):
            part = block[start : start + _COLUMNS]
            used = sum(map(len, line))
            if line and (line[0][0].task != part[0].task or used + len(part) > _COLUMNS):
                yield line
                line = []
            line.append(part)
    if line:
        yield line


def _runs_of(line: Sequence[_Block], styles: Mapping[str, _RunStyle]) -> list[str]:
    """Return the runs that occur in a line, in the order of all runs."""
    present = {run for block in line for group in block for run in group.results}
    return [run for run in styles if run in present]


def _lay_out(lines: Sequence[Sequence[_Block]], styles: Mapping[str, _RunStyle]) -> Any:
    """Draw all lines below each other, with run names at the left."""
    left = 2 * _EDGE + max(text_width(style.name, _POINTS) for style in styles.values())
    columns = max(sum(map(len, line)) for line in lines)
    step = (_WIDTH - left - _EDGE) / columns
    frame = _HEAD + _TITLE + _TICKS + _GAP
    heights = [frame + _ROW * len(_runs_of(line, styles)) for line in lines]
    height = _EDGE + sum(heights) + _FOOT
    figure = new_figure(_WIDTH, height)
    top = _EDGE
    for line, tall in zip(lines, heights, strict=True):
        runs = _runs_of(line, styles)
        column = 0
        for block in line:
            x = left + column * step
            last = block is line[-1]
            room = (columns - column if last else len(block)) * step - _EDGE
            name = ": ".join(filter(None, (block[0].dataset, block[0].section)))
            name = truncate_to_width(name, _POINTS + 1, room, bold=True)
            _write(figure, x, top + _HEAD / 2, name, weight="bold", fontsize=_POINTS + 1)
            for group in block:
                x = left + column * step
                box = (x, top + _HEAD + _TITLE, step - _NUMBER, _ROW * len(runs))
                _draw(figure, box, group, {run: styles[run] for run in runs}, named=column == 0)
                column += 1
        top += tall
    for number, text in enumerate(_LEGEND):
        y = height - _FOOT + 0.1 + 0.16 * number
        _write(figure, left, y, text, color=_GRAY, fontsize=_SMALL + 0.5)
    return figure


def _write(figure: Any, x: float, y: float, text: str, **style: Any) -> None:
    """Write text at a position in inches from the upper left corner."""
    width, height = figure.get_size_inches()
    style = {"va": "center", "parse_math": False, **style}
    figure.text(x / width, 1 - y / height, text, **style)


def _draw(
    figure: Any,
    box: tuple[float, float, float, float],
    group: ResultGroup,
    styles: Mapping[str, _RunStyle],
    *,
    named: bool,
) -> None:
    """Draw one panel: title, scale, and a row for each run."""
    from matplotlib.ticker import MaxNLocator

    x, y, wide, high = box
    width, height = figure.get_size_inches()
    axes = figure.add_axes((x / width, 1 - (y + high) / height, wide / width, high / height))
    axes.set(ylim=(len(styles) - 0.5, -0.5), xlim=_limits(group), axisbelow=True, yticks=[])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(_GRAY)
    axes.hlines(range(len(styles)), *axes.get_xlim(), color=_PALE, lw=0.6, zorder=0)
    if any(result["score"] is not None for result in group.results.values()):
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    else:
        axes.set_xticks([])
    axes.grid(axis="x", color=_PALE, lw=0.6)
    axes.tick_params(labelsize=_SMALL, length=2, color=_GRAY, labelcolor="#444444")
    _write(figure, x, y - _TITLE / 2, group.metric.removeprefix("accuracy_"), fontsize=_POINTS)
    n_items = f"n = {max((r['items_used'] for r in group.results.values()), default=0):,}"
    _write(figure, x + wide, y - _TITLE / 2, n_items, ha="right", color=_GRAY, fontsize=_SMALL)
    for row, (run, style) in enumerate(styles.items()):
        middle = y + _ROW * (row + 0.5)
        if named:
            _write(figure, x - _EDGE, middle, style.name, ha="right", fontsize=_POINTS)
        result = group.results.get(run)
        if result is None or result["score"] is None:
            reason = "not scored"
            if result is not None:
                reason = ": ".join(filter(None, ("undefined", result.get("reason"))))
            shown = truncate_to_width(reason, _SMALL, wide + _NUMBER - 0.1)
            _write(figure, x, middle, shown, color=_GRAY, style="italic", fontsize=_SMALL)
            continue
        _draw_row(axes, row, result, style, hollow=run in group.worse)
        number = f"{result['score']:.3f}".replace("-", "−")
        right = x + wide + 0.42
        _write(figure, right, middle, number, ha="right", fontsize=_SMALL, color="#444444")


def _limits(group: ResultGroup) -> tuple[float, float]:
    """Return the limits of the scale: everything drawn, and a margin."""
    ends = []
    for result in group.results.values():
        score = result["score"]
        if score is not None:
            spread = result.get("deviation") or 0.0
            ends += [score - spread, score + spread]
            ends += [end for end in (result["low"], result["high"]) if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    room = max(0.05 * (high - low), 0.01)
    return low - room, high + room


def _draw_row(
    axes: Any, row: int, result: Mapping[str, Any], style: _RunStyle, *, hollow: bool
) -> None:
    """Draw interval, deviation over seeds, and point."""
    score, spread = result["score"], result.get("deviation")
    if result["low"] is not None and result["high"] is not None:
        axes.hlines(row, result["low"], result["high"], color=style.color, lw=1.2)
    if spread is not None:
        axes.hlines(row, score - spread, score + spread, color=style.color, lw=6, alpha=0.35)
    face = "white" if hollow else style.color
    face_and_edge = {"mfc": face, "mec": style.color, "ms": 5, "mew": 1.2}
    axes.plot(score, row, style.marker, clip_on=False, **face_and_edge)
