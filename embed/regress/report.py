"""Regressions as a self-contained HTML page."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from firth.embed.compare.report.html.page import render_page, write_page
from firth.embed.compare.report.html.scale import Scale, scale_of
from firth.embed.regress.result import Regression

_ENDS = attrgetter("field", "group", "reference")  # of a ratio


class _RatioScale(Scale):
    """A scale of the logarithms of ratios, by base 2."""

    def place(self, score: float, start: float, end: float) -> float:
        """Return the position of a ratio between ``start`` and ``end``, clipped to them."""
        return super().place(math.log2(max(score, 1e-9)), start, end)


def write_regression_report(
    regressions: Sequence[Regression], path: str | Path, *, force: bool = False
) -> Path:
    """Write regressions as one HTML file.

    Parameters
    ----------
    regressions : sequence of Regression
        From :func:`firth.regress`.
    path : str or Path
        The file to write. It needs no network; the same regressions give the same bytes.
    force : bool
        Replace an existing file.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    ArtifactError
        ``path`` exists, or cannot be written.
    """
    views = {
        "regress_coefficients": _coefficients(regressions),
        "regress_groups": {"regressions": regressions, "scale": scale_of(_cosines(regressions))},
        "regress_ratios": _ratios(regressions),
        "regress_lines": any(g.lines for r in regressions for g in r.groups)
        and {"regressions": regressions},
        "regress_reading": {"regressions": regressions},
    }
    topics = list(dict.fromkeys(each.topic for each in regressions))
    page = render_page("regress.html", views, topics=topics, regressions=regressions)
    write_page(page, Path(path), force)
    return Path(path)


def _coefficients(regressions: Sequence[Regression]) -> dict[str, Any]:
    """Return the rows of coefficients, and the scale of those of one source."""
    rows: list[dict[str, Any]] = [
        {"of": each, "source": regression.source, "topic": regression.topic}
        | {"drawn": {"score": each.debiased, "low": each.low, "high": each.high}}
        for regression in regressions
        for each in regression.coefficients
    ]
    scales = {
        source: scale_of(
            [row["drawn"] for row in rows if row["source"] == source and row["of"].p is not None]
        )
        for source in {row["source"] for row in rows}
    }
    return {"rows": rows, "scales": scales}


def _cosines(regressions: Sequence[Regression]) -> list[dict[str, Any]]:
    """Return all cosines of groups, as pictures take them."""
    words = [w for r in regressions for g in r.groups for w in (*g.words, *g.nearest)]
    return [{"score": word.cosine, "low": word.low, "high": word.high} for word in words]


def _ratios(regressions: Sequence[Regression]) -> dict[str, Any]:
    """Return the ratios of each pair of groups, and a scale from 1/4 to 4."""
    pairs: list[dict[str, Any]] = []
    for regression in regressions:
        for ends, ratios in groupby(regression.ratios, key=_ENDS):
            drawn = [asdict(each) | {"score": each.ratio, "chance": 1.0} for each in ratios]
            pairs.append({"regression": regression, "ends": ends, "rows": drawn})
    return {"pairs": pairs, "scale": _RatioScale(-2.0, 2.0)}
