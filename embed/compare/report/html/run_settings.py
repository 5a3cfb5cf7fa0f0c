"""Settings section of the page: settings and provenance of every run."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from firth.embed.compare.report.contents import RunFacts

_NULL = "null"  # a setting that was left open, or has no value in this run


def settings_view(facts: Mapping[str, RunFacts]) -> list[dict[str, Any]]:
    """Lay out the settings and the provenance of every run."""
    return [
        _table("Settings (config.json)", {run: each.config for run, each in facts.items()}),
        _table("Provenance (provenance.json)", {run: f.provenance for run, f in facts.items()}),
    ]


def _table(caption: str, values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Lay out a table with one row per key and one column per run, without settings left open."""
    columns = [flattened(of_run) for of_run in values.values()]
    rows = [
        (
            key,
            [None if column.get(key) == _NULL else column.get(key) for column in columns],
            len({column[key] for column in columns if key in column}) > 1,
        )
        for key in dict.fromkeys(key for column in columns for key in column)
        if any(column.get(key, _NULL) != _NULL for column in columns)
    ]
    return {"caption": caption, "runs": list(values), "rows": rows}


def flattened(values: Mapping[str, Any], within: str = "") -> dict[str, str]:
    """Flatten a JSON object to dotted keys; drop the top-level ``format``."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{within}{key}.")
        elif within or key != "format":
            flat[f"{within}{key}"] = _written(key, value)
    return flat


def _written(key: str, value: Any) -> str:
    """Format one value."""
    if isinstance(value, str):
        return value
    if key == "command" and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False)
