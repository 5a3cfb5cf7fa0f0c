"""How a report draws runs and scores: a color for each run, an interval as a small picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embed.compare.report.html.escape import Html, decimal, name, tag

_WIDE, _HIGH = 190, 16  # of a picture in a cell, in pixels
_EDGE = 5.0  # of its sides, so that points are whole
_N_COLORS = 6


@dataclass(frozen=True)
class Look:
    """How a run is called and drawn.

    Attributes
    ----------
    name : str
        What tables call it.
    color : str
        A class of the style sheet.
    """

    name: str
    color: str

    def show(self) -> Html:
        """Show the name behind a point of the run's color.

        Returns
        -------
        Html
            The point is decoration.
        """
        return tag("span", key(self.color), name(self.name), class_="run")


@dataclass(frozen=True)
class Scale:
    """From scores to places on a picture.

    Attributes
    ----------
    low, high : float
        What stands at its ends.
    """

    low: float
    high: float

    def place(self, score: float) -> float:
        """Find where a score stands.

        Parameters
        ----------
        score : float
            Within the scale.

        Returns
        -------
        float
            Pixels from the left.
        """
        share = (score - self.low) / (self.high - self.low)
        return _EDGE + (_WIDE - 2 * _EDGE) * min(max(share, 0.0), 1.0)


def color_of(number: int) -> str:
    """Choose the class that colors the first, second, ... of several things.

    Parameters
    ----------
    number : int
        From 0; colors come again where they end.

    Returns
    -------
    str
        A class of the style sheet.
    """
    return f"c{number % _N_COLORS}"


def key(color: str) -> Html:
    """Draw a point for a legend.

    Parameters
    ----------
    color : str
        A class of the style sheet.

    Returns
    -------
    Html
        Decoration: the name beside it says the same.
    """
    circle = tag("circle", cx=5, cy=5, r=4, class_="dot")
    return tag("svg", circle, class_=f"key {color}", viewBox="0 0 10 10", aria_hidden="true")


def show_interval(
    entry: Mapping[str, Any], scale: Scale, color: str, *, hollow: bool = False
) -> Html:
    """Draw a score, its interval and its deviation over seeds.

    Parameters
    ----------
    entry : mapping
        ``score``, ``low``, ``high`` and perhaps ``deviation``.
    scale : Scale
        The same for all that is to be compared.
    color : str
        Class of the run.
    hollow : bool
        Whether the point is a ring: the run is worse than the best.

    Returns
    -------
    Html
        An SVG picture with a text of the same content.
    """
    score, spread, middle = entry["score"], entry.get("deviation"), _HIGH // 2
    parts = [tag("path", d=f"M{_EDGE:.0f} {middle}H{_WIDE - _EDGE:.0f}", class_="rail")]
    if scale.low < 0 < scale.high:
        parts.append(tag("path", d=f"M{scale.place(0):.1f} 1V{_HIGH - 1}", class_="rail"))
    if spread is not None:
        parts.append(_stroke(scale, score - spread, score + spread, "spread"))
    if entry["low"] is not None and entry["high"] is not None:
        parts.append(_stroke(scale, entry["low"], entry["high"], "bar"))
    point = "ring" if hollow else "dot"
    parts.append(tag("circle", cx=f"{scale.place(score):.1f}", cy=middle, r="3.5", class_=point))
    return tag(
        "svg", *parts, class_=f"interval {color}", viewBox=f"0 0 {_WIDE} {_HIGH}", role="img",
        aria_label=_spoken(entry),
    )  # fmt: skip


def scale_of(entries: Sequence[Mapping[str, Any]]) -> Scale:
    """Choose a scale on which all scores and intervals have room; 0 stands on it.

    Parameters
    ----------
    entries : sequence of mapping
        ``score``, ``low``, ``high`` and perhaps ``deviation``.

    Returns
    -------
    Scale
        Its ends are tenths, or of larger numbers round ones.
    """
    ends = [0.0]
    for entry in entries:
        spread = entry.get("deviation") or 0.0
        if entry["score"] is not None:
            ends += [entry["score"] - spread, entry["score"] + spread]
        ends += [entry[end] for end in ("low", "high") if entry[end] is not None]
    step = 10.0 ** (len(str(int(max(map(abs, ends))))) - 2)
    low, high = (step * _up(-min(ends) / step) * -1, step * _up(max(ends) / step))
    return Scale(low, high if high > low else low + step)


def interval_text(entry: Mapping[str, Any]) -> str:
    """Write both ends of an interval.

    Parameters
    ----------
    entry : mapping
        ``low`` and ``high``.

    Returns
    -------
    str
        Nothing where it is undefined.
    """
    if entry["low"] is None or entry["high"] is None:
        return ""
    return f"{decimal(entry['low'])} to {decimal(entry['high'])}"


def _up(number: float) -> int:
    """The next integer, but for what rounding alone puts above one."""
    return -int(-(number - 1e-9) // 1)


def _stroke(scale: Scale, low: float, high: float, kind: str) -> Html:
    """A horizontal line."""
    return tag(
        "path", d=f"M{scale.place(low):.1f} {_HIGH // 2}H{scale.place(high):.1f}", class_=kind
    )


def _spoken(entry: Mapping[str, Any]) -> str:
    """What a picture shows, in words."""
    interval, spread = interval_text(entry), entry.get("deviation")
    return decimal(entry["score"]) + (
        f", 95 % interval {interval}" if interval else ", no interval"
    ) + ("" if spread is None else f", deviation over seeds {decimal(spread)}")  # fmt: skip
