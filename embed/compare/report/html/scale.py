"""Where scores stand on pictures, and the colors of what is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any


@dataclass(frozen=True)
class Scale:
    """From scores to places on a picture."""

    low: float  # what stands at its ends
    high: float  # what stands at its ends

    def place(self, score: float, start: float, end: float) -> float:
        """Find where a score stands."""
        share = (score - self.low) / (self.high - self.low)
        return round(float(start + (end - start) * min(max(share, 0.0), 1.0)), 1)


def scale_of(entries: Sequence[Mapping[str, Any]]) -> Scale:
    """Choose a scale on which all scores and intervals have room; 0 stands on it."""
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
    """Choose a color for each of several things."""
    return dict(zip(dict.fromkeys(names), cycle(("c0", "c1", "c2", "c3", "c4", "c5"))))


def _up(number: float) -> int:
    """The next integer, but for what rounding alone puts above one."""
    return -int(-(number - 1e-9) // 1)
