"""Template filters: how the page formats numbers and names."""

from collections.abc import Mapping
from typing import Any

from firth.corpora.common.console import counted
from firth.embed.compare.report.document import ResultGroup
from firth.embed.compare.report.explanations import meaning
from firth.embed.compare.scoring.frequency_bands import EDGES


def _decimal(number: float, digits: int = 3, *, signed: bool = False) -> str:
    """Round a number; use a true minus sign, and none for zero."""
    text = f"{round(number, digits) + 0.0:{'+' if signed else ''}.{digits}f}"
    return text.replace("-", "−")


def _p_value(p: float | None) -> str:
    """Format a p-value; None if no test was possible."""
    if p is None:
        return "no test"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _ends(entry: Mapping[str, Any]) -> str:
    """Format an interval; empty if it is undefined."""
    if entry["low"] is None or entry["high"] is None:
        return ""
    return f"{_decimal(entry['low'])} to {_decimal(entry['high'])}"


def _set_name(group: ResultGroup) -> str:
    """Name a set and its section; number sets that share a name."""
    numbered = group.dataset if group.number == 0 else f"{group.dataset} ({group.number + 1})"
    is_whole_or_band = group.section is None or group.section in EDGES
    return numbered if is_whole_or_band else f"{numbered}: {group.section}"


FILTERS = {
    "decimal": _decimal,
    "short": lambda number: f"{number:.2g}".replace("-", "−"),
    "thousands": "{:,}".format,
    "p_value": _p_value,
    "ends": _ends,
    "few": lambda entry: f"few {entry['few']}" if "few" in entry else "",  # items or units
    "counted": counted,
    "set_name": _set_name,
    "metric_name": lambda metric: metric.removeprefix("accuracy_").replace("_", " "),
    "meaning": meaning,
}
