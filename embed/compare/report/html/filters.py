"""How the page writes numbers and names: the filters of its templates."""

from collections.abc import Mapping
from typing import Any

from embed.compare.report.result_groups import ResultGroup
from embed.compare.scoring.frequency_bands import EDGES


def _decimal(number: float, digits: int = 3, *, signed: bool = False) -> str:
    """A rounded number with a true minus sign, and no minus before zero."""
    text = f"{round(number, digits) + 0.0:{'+' if signed else ''}.{digits}f}"
    return text.replace("-", "−")


def _chance(p: float | None) -> str:
    """A p-value; None where no test was possible."""
    if p is None:
        return "no test"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _ends(entry: Mapping[str, Any]) -> str:
    """Both ends of an interval; empty where it is undefined."""
    if entry["low"] is None or entry["high"] is None:
        return ""
    return f"{_decimal(entry['low'])} to {_decimal(entry['high'])}"


def _counted(number: int, what: str) -> str:
    """A number and what is counted: ``2 runs``."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def _set_name(panel: ResultGroup) -> str:
    """The set and its section, with a number where sets share their name."""
    numbered = panel.dataset if panel.number == 0 else f"{panel.dataset} ({panel.number + 1})"
    banded = panel.section is None or panel.section in EDGES
    return numbered if banded else f"{numbered}: {panel.section}"


def _metric_name(metric: str) -> str:
    """A metric as tables name it: ``3cosmul`` for ``accuracy_3cosmul``."""
    return metric.removeprefix("accuracy_").replace("_", " ")


FILTERS = {
    "decimal": _decimal,
    "thousands": "{:,}".format,
    "chance": _chance,
    "ends": _ends,
    "counted": _counted,
    "set_name": _set_name,
    "metric_name": _metric_name,
}
