"""Settings and provenance of every run in a report, what differs marked."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from embed.compare.report.contents import RunFacts
from embed.compare.report.html.escape import Html, join, name, table, tag
from embed.compare.report.html.intervals import Look

_NOTHING = "–"
_NO_OPTIONS = ("format",)


def show_settings(facts: Mapping[str, RunFacts], looks: Mapping[str, Look]) -> Html:
    """Show the options of every run and how it was made.

    Parameters
    ----------
    facts : mapping of str to RunFacts
        By run.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        Two tables, a column a run; options that runs have and set otherwise are marked.
    """
    options = {run: flattened(each.config) for run, each in facts.items()}
    made = {run: flattened(each.provenance) for run, each in facts.items()}
    return join(
        [
            _table("Settings (config.json)", options, looks),
            _table("Provenance (provenance.json)", made, looks),
        ],
        "\n",
    )


def flattened(values: Mapping[str, Any], within: str = "") -> dict[str, str]:
    """Lay the groups of a JSON object flat.

    Parameters
    ----------
    values : mapping
        Of a configuration.
    within : str
        What the names begin with.

    Returns
    -------
    dict of str to str
        Names with dots, such as ``text.keep_case``, and values as JSON writes them; texts as they
        are, and commands as they were typed.

    Examples
    --------
    >>> flattened({"dim": 300, "text": {"keep_case": False}})
    {'dim': '300', 'text.keep_case': 'false'}
    """
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{within}{key}.")
        elif not within and key in _NO_OPTIONS:
            continue
        else:
            flat[f"{within}{key}"] = _written(key, value)
    return flat


def _written(key: str, value: Any) -> str:
    """One value."""
    if isinstance(value, str):
        return value
    if key == "command" and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False)


def _table(
    caption: str, values: Mapping[str, Mapping[str, str]], looks: Mapping[str, Look]
) -> Html:
    """A row a name, a column a run."""
    names = list(dict.fromkeys(key for of_run in values.values() for key in of_run))
    rows = []
    for key in names:
        differs = len({of_run[key] for of_run in values.values() if key in of_run}) > 1
        rows.append(
            tag(
                "tr",
                tag("th", key, tag("span", "differs", class_="mark") if differs else None,
                    scope="row"),
                *(tag("td", _shown(of_run.get(key))) for of_run in values.values()),
                class_="differs" if differs else None,
            )
        )  # fmt: skip
    heads = ("Name", *(looks[run].show() for run in values))
    return table(caption, heads, rows, class_="settings")


def _shown(value: str | None) -> Html | str:
    """A value, or that there is none."""
    return _NOTHING if value is None else name(value)
