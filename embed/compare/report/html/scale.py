"""Scales and colors of the page's pictures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any


@dataclass(frozen=True)
class Scale:
    """A linear scale from scores to positions on a picture."""

    low: float
    high: float

    def place(self, score: float, start: float, end: float) -> float:
        """Return the position of a score between ``start`` and ``end``, clipped to them."""
        share = (score - self.low) / (self.high - self.low)
        return round(float(start + (end - start) * min(max(share, 0.0), 1.0)), 1)


def scale_of(entries: Sequence[Mapping[str, Any]]) -> Scale:
    """Return a round scale that contains 0 and all scores, deviations and intervals."""
    ends = [0.0]
    for entry in entries:
        spread = entry.get("deviation") or 0.0
        if entry["score"] is not None:
            ends += [entry["score"] - spread, entry["score"] + spread]
        ends += [entry[end] for end in ("low", "high") if entry[end] is not None]
    step = 10.0 ** (len(str(int(max(map(abs, ends))))) - 2)
    low, high = (step * _up(-min(ends) / step) * -1, step * _up(max(ends) / step))
    return Scale(low, high if high > low else low + step)


def colors_of(names: Iterable[str]) -> dict[str, str]:
    """Assign a color class to each distinct name, in a cycle of six."""
    return dict(zip(dict.fromkeys(names), cycle(("c0", "c1", "c2", "c3", "c4", "c5"))))


def _up(number: float) -> int:
    """Round up, ignoring excess within rounding error."""
    return -int(-(number - 1e-9) // 1)
