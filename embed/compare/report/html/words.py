"""Word sections of the page: maps, neighbors and words in context."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from firth.embed.compare.report.html.scale import Scale, colors_of
from firth.embed.compare.report.names import cut_name
from firth.embed.contextual.in_context import BRACKETED, ContextAnswer
from firth.embed.query.label_places import place_labels
from firth.embed.query.word_map import WordMap

_WIDE, _HIGH = 400, 340  # size of a map, in drawing units
_MARGINS = np.array([46.0, 20.0])  # room for labels
_LETTER, _WIDE_LETTER, _LINE = 6.4, 12.0, 13.0  # approximate text sizes
_FIRST_WIDE = "\u1100"  # scripts from here on have mostly wide letters
_LONGEST = 18  # letters shown of a word on a map
_GAP = 7.0
_OPEN_WORDS = 4  # words whose neighbors are shown without a click

# by word, then by run; Neighbor, or NeighborInterval
Neighbors = Mapping[str, Mapping[str, Sequence[Any]]]


def map_view(maps: Mapping[str, WordMap | str]) -> dict[str, Any]:
    """Lay out the maps of all runs side by side; strings say why a run has none."""
    drawn = [found for found in maps.values() if isinstance(found, WordMap)]
    groups = (group for found in drawn for group in found.groups)
    colors = colors_of(group for group in groups if group is not None)
    return {
        "wide": _WIDE,
        "high": _HIGH,
        "legend": colors,
        "maps": {
            run: found if isinstance(found, str) else _map(rotated(found, drawn[0]), colors)
            for run, found in maps.items()
        },
    }


def rotated(found: WordMap, like: WordMap) -> WordMap:
    """Rotate and mirror a map to bring its words closest to another's (Schönemann 1966)."""
    if found.words != like.words:
        return found
    left, _, right = np.linalg.svd(found.places.T @ like.places)
    return replace(found, places=found.places @ (left @ right))


def neighbor_view(neighbors: Neighbors, unknown: Sequence[str] = ()) -> dict[str, Any] | None:
    """Lay out the nearest neighbors in every run side by side; None if there are none."""
    if not neighbors:
        return None
    words = []
    for word, of_runs in neighbors.items():
        times = Counter(near.word for found in of_runs.values() for near in found)
        words.append(
            {
                "word": word,
                "runs": list(of_runs),
                "ranks": list(zip_longest(*of_runs.values())),
                "common": {near for near, number in times.items() if number > 1},
            }
        )
    listed = [near for runs in neighbors.values() for found in runs.values() for near in found]
    sure = [near for near in listed if getattr(near, "low", None) is not None]
    ends = [end for near in sure for end in (near.score, near.low, near.high)]
    scale = Scale(min(ends), max(ends)) if ends else None
    return {"words": words, "unknown": unknown, "n_open": _OPEN_WORDS, "scale": scale}


def context_view(
    contexts: Mapping[str, Sequence[ContextAnswer | str]], neighbors: Neighbors
) -> dict[str, Any]:
    """Lay out the neighbors of words in their sentences, or why not, beside static neighbors."""
    every = [(run, each) for run, found in contexts.items() for each in found]
    columns: dict[str, list[dict[str, Any]]] = {}
    n_before: Counter[tuple[str, str]] = Counter()
    for run, answer in every:
        if isinstance(answer, str):
            continue
        # every second part of the split is a word in brackets
        column = {
            "run": run,
            "sentence": BRACKETED.split(answer.context),
            "marked": 2 * n_before[run, answer.context] + 1,
            "near": answer.neighbors,
        }
        n_before[run, answer.context] += 1
        columns.setdefault(answer.word, []).append(column)
    for word, places in columns.items():
        for run, near in neighbors.get(word, {}).items():
            places.append({"run": run, "sentence": None, "near": near})
    return {
        "lines": [(run, each) for run, each in every if isinstance(each, str)],
        "words": [
            {
                "word": word,
                "columns": places,
                "ranks": list(zip_longest(*(c["near"] for c in places))),
            }
            for word, places in columns.items()
        ],
    }


def _map(found: WordMap, colors: Mapping[str, str]) -> dict[str, Any]:
    """Return the positions of a map's points and labels."""
    points = _to_drawing(found.places)
    shown = [cut_name(word, _LONGEST) for word in found.words]
    sizes = np.array([[_width(word), _LINE] for word in shown])
    middles, far = place_labels(points, sizes, (_WIDE, _HIGH), _GAP)
    (x, y), (label_x, label_y) = points.T, middles.T
    columns = {
        "word": found.words,
        "shown": shown,
        "color": [colors.get(group or "", "none" if colors else "c0") for group in found.groups],
        "far": far,
        "x": x.round(1),
        "y": y.round(1),
        "label_x": label_x.round(1),
        "label_y": label_y.round(1),
    }
    words = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return {"percent": 100 * sum(found.share), "words": words}


def _to_drawing(places: np.ndarray) -> np.ndarray:
    """Return drawing coordinates: the same scale on both axes, y downwards."""
    size = np.array([_WIDE, _HIGH])
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    extent = np.maximum(np.ptp(places, axis=0), 1e-9)
    scale = float(((size - 2 * _MARGINS) / extent).min())
    return np.asarray((places - middle) * scale * [1, -1] + size / 2)


def _width(word: str) -> float:
    """Return the approximate width of a word."""
    return sum(_WIDE_LETTER if letter >= _FIRST_WIDE else _LETTER for letter in word)
