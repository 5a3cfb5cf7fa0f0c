"""Draw a map of words: a point and a label for each word, a color for each group."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
from firth.embed.query.label_places import place_labels
from firth.embed.query.word_map import WordMap

_WIDTH = 10.0  # all lengths in inches; more words than _ROOMY make it wider, few words narrower
_ROOMY, _FEW, _NARROWEST = 150, 30, 0.6
_LEFT, _RIGHT, _TOP, _BELOW = 0.6, 0.15, 0.5, 0.55
_LOW, _HIGH = 0.55, 1.0  # least and greatest height, as shares of the width
_MARGINS = (0.8, 0.4)  # between the outermost points and the frame, so that labels fit
_GAP = 0.075  # from the center of a point to its label
_LEGEND_LINE, _LEGEND_ROOM, _LEGEND_POINT = 0.2, 0.3, 0.35
_GRAY, _PALE, _INK = "#767676", "#ececec", "#222222"


def draw_map(
    found: WordMap,
    path: str | Path,
    *,
    title: str = "",
    arrows: Sequence[tuple[int, int]] = (),
    force: bool = False,
) -> Picture:
    """Draw a map to a file; the same map gives the same SVG bytes.

    Both axes have the same scale, so that distances can be compared.

    Parameters
    ----------
    found : WordMap
        From :func:`~firth.embed.query.word_map.map_words`.
    path : str or Path
        A file ending in ``.png`` or ``.svg``, written atomically.
    title : str
        For example the name of the run.
    arrows : sequence of (int, int)
        Words to connect by arrows, by their numbers in the map.
    force : bool
        Replace an existing file.

    Returns
    -------
    Picture
        The file; a notebook shows it.

    Raises
    ------
    ArtifactError
        ``path`` exists, or cannot be written.
    SettingError
        ``path`` has another ending, matplotlib is not installed, or the picture would be too
        large.
    """
    picture_kind(Path(path))
    with picture_style():
        return write_figure(_lay_out(found, title, arrows), Path(path), force=force)


def _lay_out(found: WordMap, title: str, arrows: Sequence[tuple[int, int]] = ()) -> Any:
    """Draw title, frame, points and labels, and the legend below."""
    groups = list(dict.fromkeys(group for group in found.groups if group is not None))
    n = len(found.words)
    narrower = max(_NARROWEST, min(1.0, math.sqrt(n / _FEW)))
    width = _WIDTH * max(narrower, math.sqrt(n / _ROOMY))
    wide = width - _LEFT - _RIGHT
    reach = max((each.half_axes[0] for each in found.ellipses if each), default=0.0)
    spans = np.ptp(found.places, axis=0) + 2 * reach
    room = np.array([wide, _HIGH * wide]) - 2 * np.array(_MARGINS)
    scale = 1 / (spans / room).max()
    high = float(np.clip(spans[1] * scale + 2 * _MARGINS[1], _LOW * wide, _HIGH * wide))
    legend = _legend_lines(groups, wide)
    below = _BELOW + (_LEGEND_ROOM - 0.1 + _LEGEND_LINE * len(legend) if legend else 0.0)
    height = _TOP + high + below
    figure = new_figure(width, height)
    axes = figure.add_axes((_LEFT / width, below / height, wide / width, high / height))
    middle = (found.places.min(axis=0) + found.places.max(axis=0)) / 2
    half = np.array([wide, high]) / scale / 2
    low, top = middle - half, middle + half
    _draw_axes(axes, low, top, found.share)
    _draw_title(figure, found, title)
    _draw_ellipses(axes, found, groups)
    for start, end in arrows:
        line = {"arrowstyle": "->", "color": _GRAY, "lw": 1.2, "shrinkA": 4, "shrinkB": 4}
        axes.annotate("", found.places[end], found.places[start], arrowprops=line, zorder=2)
    _draw_words(axes, found, (found.places - low) * scale, groups, (wide, high))
    _draw_legend(figure, legend, groups, height - (below - _BELOW))
    return figure


def _draw_title(figure: Any, found: WordMap, title: str) -> None:
    """Write the title at the left, shortened to fit, and the explained variance."""
    width, height = figure.get_size_inches()
    y = 1 - 0.28 / height
    variance = (
        f"two components with {sum(found.share):.0%} of the variance of {len(found.words)} "
        f"{found.noun}s" + ("; ellipses: 95 %" if found.ellipses else "")
    )
    figure.text(1 - _RIGHT / width, y, variance, ha="right", color=_GRAY, fontsize=9)
    room = width - _LEFT - _RIGHT - text_width(variance, 9) - 0.2
    name = truncate_to_width(title, 10, room, bold=True, end=True)
    figure.text(_LEFT / width, y, name, fontsize=10, weight="bold", parse_math=False)


def _draw_axes(axes: Any, low: np.ndarray, high: np.ndarray, share: tuple[float, float]) -> None:
    """Set limits, axis labels and a light grid."""
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), axisbelow=True)
    axes.grid(color=_PALE, lw=0.6)
    axes.spines[:].set_color(_GRAY)
    axes.tick_params(labelsize=7, length=2, color=_GRAY, labelcolor=_GRAY)
    axes.set_xlabel(f"first component ({share[0]:.0%})", fontsize=8, color=_GRAY)
    axes.set_ylabel(f"second component ({share[1]:.0%})", fontsize=8, color=_GRAY)


def _draw_ellipses(axes: Any, found: WordMap, groups: Sequence[str]) -> None:
    """Draw faintly where words would be in other texts."""
    from matplotlib.patches import Ellipse

    for place, group, each in zip(found.places, found.groups, found.ellipses, strict=False):
        if each is not None:
            color, (long, short) = _style_of(group, groups)[0], each.half_axes
            shape = Ellipse(place, 2 * long, 2 * short, angle=each.angle, color=color, zorder=0.5)
            axes.add_patch(shape).set(alpha=0.12)


def _draw_words(
    axes: Any,
    found: WordMap,
    inches: np.ndarray,
    groups: Sequence[str],
    bounds: tuple[float, float],
) -> None:
    """Draw points, labels, and lines to distant labels."""
    points = 9.0 if len(found.words) <= 60 else 8.0
    most = bounds[0] / 2 - 2 * _GAP  # so that a label fits on at least one side of its point
    names = [truncate_to_width(word, points, most) for word in found.words]
    sizes = np.array([(text_width(name, points), 1.05 * points / 72) for name in names])
    middles, far = place_labels(inches, sizes, bounds, _GAP)
    for name, group, place, at, size, led in zip(
        names, found.groups, inches, middles, sizes, far, strict=True
    ):
        if led:
            # nearest corner or edge of the label
            end = np.clip(place, at - size / 2, at + size / 2)
            line = np.array([place, end]) / bounds
            axes.plot(*line.T, color=_GRAY, lw=0.5, transform=axes.transAxes, zorder=1)
        x, y = at / bounds
        text = axes.text(x, y, name, fontsize=points, color=_INK, parse_math=False, zorder=3)
        text.set(ha="center", va="center", transform=axes.transAxes)
        color, marker = _style_of(group, groups)
        axes.plot(*(place / bounds), marker, color=color, ms=4.5, transform=axes.transAxes)


def _style_of(group: str | None, groups: Sequence[str]) -> tuple[str, str]:
    """Return color and marker of a group; they repeat after thirty groups."""
    if group is None:
        return (_GRAY if groups else COLORS[0]), MARKERS[0]
    number = groups.index(group)
    return COLORS[number % len(COLORS)], MARKERS[number // len(COLORS) % len(MARKERS)]


def _legend_lines(groups: Sequence[str], wide: float) -> list[list[tuple[float, str, str]]]:
    """Divide the legend into lines that fit: x position, shortened name and group."""
    lines: list[list[tuple[float, str, str]]] = []
    end = wide
    for group in groups:
        name = truncate_to_width(group, 8, wide - _LEGEND_POINT)
        needs = _LEGEND_POINT + text_width(name, 8)
        if not lines or end + needs > wide:
            lines.append([])
            end = 0.0
        lines[-1].append((end, group, name))
        end += needs
    return lines


def _draw_legend(
    figure: Any,
    lines: Sequence[Sequence[tuple[float, str, str]]],
    groups: Sequence[str],
    top: float,
) -> None:
    """Draw the legend; ``top`` counts from the upper edge."""
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    for row, line in enumerate(lines):
        y = 1 - (top + _LEGEND_LINE * (row + 0.5)) / height
        for x, group, name in line:
            color, marker = _style_of(group, groups)
            at = (_LEFT + x + 0.06) / width
            point = Line2D([at], [y], marker=marker, color=color, ls="", ms=5)
            point.set_transform(figure.transFigure)
            figure.add_artist(point)
            right = at + 0.1 / width
            figure.text(right, y, name, va="center", fontsize=8, parse_math=False)
