"""Learning curves section of the page: coordinates of the lines of each set and metric."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from firth.corpora.common.console import human
from firth.embed.compare.curves.table import Points, by_point, readable_sizes
from firth.embed.compare.inputs.baselines import RANDOM
from firth.embed.compare.report.document import ResultGroup, group_results
from firth.embed.compare.report.html.scale import Scale, colors_of, scale_of

_WIDE, _HIGH = 360, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 346, 8, 204  # edges of the plot area
_PADDING = 14.0  # from the edges to the first and the last size
_TICK_SPACING = 0.17  # least distance of two size labels, as a share of the axis


def curve_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Lay out the charts and tables of a learning curve."""
    sizes = document["sizes"]
    colors = colors_of(document["methods"])
    places = _places(sizes)
    return {
        "corpus": document["corpus"],
        "colors": colors,
        "wide": _WIDE, "high": _HIGH, "left": _LEFT, "right": _RIGHT,
        "ticks": [(human(size), places[size]) for size in readable_sizes(sizes, _TICK_SPACING)],
        "charts": [_chart(group, colors, places) for group in group_results(document)],
    }  # fmt: skip


def _chart(
    group: ResultGroup, colors: Mapping[str, str], places: Mapping[int, float]
) -> dict[str, Any]:
    """Lay out the lines and the table of one set and metric."""
    scale, points = scale_of(list(group.results.values())), by_point(group.results)
    chance = points.get((RANDOM, None), {"score": None})["score"]
    return {
        "dataset": group.about,
        "metric": group.metric,
        "scores": [(score, _y(score, scale)) for score in _round_scores(scale)],
        "lines": [
            _line(points, scale, method, places) | {"color": colors[method]} for method in colors
        ],
        "chance": None if chance is None else _y(chance, scale),
        "items_used": max((entry["items_used"] for entry in group.results.values()), default=0),
        "items_total": group.items_total,
        "rows": {size: [points.get((method, size)) for method in colors] for size in places},
    }


def _line(points: Points, scale: Scale, method: str, places: Mapping[int, float]) -> dict[str, Any]:
    """Return the points of one method and the outline of its intervals."""
    found = [(x, points.get((method, size))) for size, x in places.items()]
    scored = [(x, entry) for x, entry in found if entry and entry["score"] is not None]
    ends = [(x, entry) for x, entry in scored if entry["low"] is not None]
    above = [(x, _y(entry["high"], scale)) for x, entry in ends]
    below = [(x, _y(entry["low"], scale)) for x, entry in ends]
    return {
        "points": [(x, _y(entry["score"], scale)) for x, entry in scored],
        "band": [*above, *below[::-1]],
    }


def _places(sizes: Sequence[int]) -> dict[int, float]:
    """Return the x position of each size on a log scale."""
    first, last = math.log(sizes[0]), math.log(sizes[-1])
    scale = Scale(first, last) if last > first else Scale(first - 1, first + 1)
    return {s: scale.place(math.log(s), _LEFT + _PADDING, _RIGHT - _PADDING) for s in sizes}


def _round_scores(scale: Scale) -> list[float]:
    """Return at most six round scores for the grid lines."""
    room = scale.high - scale.low
    power = 10.0 ** math.floor(math.log10(room / 5))
    step = next(power * n for n in (1, 2, 5, 10) if room / (power * n) <= 5)
    first, last = math.ceil(scale.low / step - 1e-9), int(scale.high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _y(score: float, scale: Scale) -> float:
    """Return the y position of a score."""
    return scale.place(score, _BOTTOM, _TOP)
