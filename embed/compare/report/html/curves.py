"""Learning curves on the page: where the lines of each set and metric run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corpora.common.console import human
from embed.compare.curves.table import CurveGroup, group_curve_results
from embed.compare.inputs.baselines import RANDOM
from embed.compare.report.html.scale import Scale, colors_of, scale_of

_WIDE, _HIGH = 360, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 346, 8, 204  # of what the axes enclose
_INSIDE = 14.0  # from there to the first and the last size
_NEAREST = 46.0  # between two names of sizes


def curve_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Lay out the pictures and the tables of a learning curve."""
    sizes = document["sizes"]
    colors = colors_of(document["methods"])
    places = _places(sizes)
    return {
        "corpus": document["corpus"],
        "colors": colors,
        "wide": _WIDE, "high": _HIGH, "left": _LEFT, "right": _RIGHT,
        "ticks": list(_ticks(places)),
        "charts": [_chart(g, colors, places) for g in group_curve_results(document) if g.shared],
    }  # fmt: skip


def _chart(
    panel: CurveGroup, colors: Mapping[str, str], places: Mapping[int, float]
) -> dict[str, Any]:
    """The lines of one set and metric, and its table."""
    scale = scale_of(list(panel.results.values()))
    chance = panel.results.get((RANDOM, None), {"score": None})["score"]
    return {
        "dataset": panel.dataset,
        "metric": panel.metric,
        "scores": [(score, _y(score, scale)) for score in _round_scores(scale)],
        "lines": [
            _line(panel, scale, method, places) | {"color": colors[method]} for method in colors
        ],
        "chance": None if chance is None else _y(chance, scale),
        "items_used": max((entry["items_used"] for entry in panel.results.values()), default=0),
        "items_total": panel.items_total,
        "rows": {size: [panel.results.get((method, size)) for method in colors] for size in places},
    }


def _line(
    panel: CurveGroup, scale: Scale, method: str, places: Mapping[int, float]
) -> dict[str, Any]:
    """The points of one method, and the outline of its intervals."""
    found = [(x, panel.results.get((method, size))) for size, x in places.items()]
    scored = [(x, entry) for x, entry in found if entry and entry["score"] is not None]
    ends = [(x, entry) for x, entry in scored if entry["low"] is not None]
    above = [(x, _y(entry["high"], scale)) for x, entry in ends]
    below = [(x, _y(entry["low"], scale)) for x, entry in ends]
    return {
        "points": [(x, _y(entry["score"], scale)) for x, entry in scored],
        "band": [*above, *below[::-1]],
    }


def _places(sizes: Sequence[int]) -> dict[int, float]:
    """Where each size stands: its logarithm counts."""
    first, last = math.log(sizes[0]), math.log(sizes[-1])
    scale = Scale(first, last) if last > first else Scale(first - 1, first + 1)
    return {s: scale.place(math.log(s), _LEFT + _INSIDE, _RIGHT - _INSIDE) for s in sizes}


def _ticks(places: dict[int, float]) -> Iterator[tuple[str, float]]:
    """The sizes whose names have room, and where they stand."""
    after = math.inf
    for size, x in reversed(places.items()):
        if after - x >= _NEAREST:
            yield human(size), x
            after = x


def _round_scores(scale: Scale) -> list[float]:
    """Scores at the least round distance of which no more than six have room."""
    room = scale.high - scale.low
    power = 10.0 ** math.floor(math.log10(room / 5))
    step = next(power * n for n in (1, 2, 5, 10) if room / (power * n) <= 5)
    first, last = math.ceil(scale.low / step - 1e-9), int(scale.high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _y(score: float, scale: Scale) -> float:
    """Where a score stands."""
    return scale.place(score, _BOTTOM, _TOP)
