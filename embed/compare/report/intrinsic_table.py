"""Show intrinsic measures: two tables, and JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from firth.corpora.common.console import bare, name_room, print_table
from firth.embed.compare.intrinsic.measures import (
    AGREEMENTS,
    PROPERTIES,
    Agreement,
    Geometry,
    Property,
)
from firth.embed.compare.report.names import cut_name

_LONGEST_RUN, _LONGEST_WORD = 18, 12
_OPTIONAL = ("reason", "word")


def geometry_json(geometry: Geometry) -> dict[str, Any]:
    """Turn intrinsic measures into JSON."""
    return {
        "properties": [_entry(each) for each in geometry.properties],
        "agreements": [_entry(each) for each in geometry.agreements],
    }


def print_geometry(geometry: Geometry, names: Mapping[str, str]) -> None:
    """Print two tables that fit a terminal of 100 columns, and why scores are undefined."""
    if not geometry.properties:  # all runs are damaged
        return
    runs = list(dict.fromkeys(each.run for each in geometry.properties))
    short = {run: cut_name(names.get(run, run), name_room(_LONGEST_RUN)) for run in runs}
    if all(each.score is None for each in geometry.properties):
        print(f"intrinsic measures are undefined: {geometry.properties[0].reason}")
        return
    rows = [
        [short[run], *(_cell(each) for each in geometry.properties if each.run == run)]
        for run in runs
    ]
    print_table(["run", *map(_heading, PROPERTIES)], rows)
    pairs = list(_pairs(geometry, short))
    if pairs:
        print_table(["run", "and", *map(_heading, AGREEMENTS)], pairs)
    print(
        f"on the {geometry.words:,} most frequent words shared by all runs; "
        "± half of the 95 % interval"
    )
    if geometry.zero:
        print(f"left out: words with a zero vector in some run: {geometry.zero:,}")
    for line in _reasons(geometry, short):
        print(line)


def _entry(measured: Property | Agreement) -> dict[str, Any]:
    """Return one entry of the JSON."""
    return {
        name: value
        for name, value in asdict(measured).items()
        if value is not None or name not in _OPTIONAL
    }


def _heading(metric: str) -> str:
    """Return the column heading of a metric."""
    return metric.replace("_frequency", "~freq.").replace("_", " ")


def _cell(measured: Property | Agreement) -> str:
    """Format a number with half its interval, or with a hub's word."""
    if measured.score is None:
        return "undefined"
    if isinstance(measured, Property) and measured.word is not None:
        return f"{measured.score:4.0f} {cut_name(measured.word, name_room(_LONGEST_WORD))}"
    if measured.low is None or measured.high is None:
        return f"{measured.score:6.3f}"
    return f"{measured.score:6.3f} ±{bare((measured.high - measured.low) / 2)}"


def _pairs(geometry: Geometry, short: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield a row for each pair of runs with a defined score."""
    pairs: dict[tuple[str, str], list[Agreement]] = {}
    for agreement in geometry.agreements:
        pairs.setdefault((agreement.a, agreement.b), []).append(agreement)
    for (a, b), both in pairs.items():
        if any(each.score is not None for each in both):
            yield [short[a], short[b], *map(_cell, both)]


def _reasons(geometry: Geometry, short: Mapping[str, str]) -> Iterator[str]:
    """Yield why scores are undefined, one line for each run and reason."""
    undefined: dict[tuple[str, str], list[str]] = {}
    for each in geometry.properties:
        if each.reason is not None:
            undefined.setdefault((short[each.run], each.reason), []).append(_heading(each.metric))
    for run in short:
        for metric in AGREEMENTS:
            # blame a run only if all its pairs are undefined for the same reason
            reasons = {
                each.reason
                for each in geometry.agreements
                if each.metric == metric and run in (each.a, each.b)
            }
            for reason in reasons if len(reasons) == 1 else ():
                if reason is not None:
                    undefined.setdefault((short[run], reason), []).append(metric)
    for (run, reason), metrics in undefined.items():
        yield f"undefined: {run}: {', '.join(metrics)}: {reason}"
