"""Show intrinsic measures: two tables, and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firth.corpora.common.console import bare, name_room, print_table
from firth.embed.compare.intrinsic.measures import AGREEMENTS, PROPERTIES, Geometry, Measure
from firth.embed.compare.report.names import cut_name

_LONGEST_RUN, _LONGEST_WORD = 18, 12


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
    runs = dict.fromkeys(run for each in geometry.properties for run in each.runs)
    short = {run: cut_name(names.get(run, run), name_room(_LONGEST_RUN)) for run in runs}
    if all(each.score is None for each in geometry.properties):
        print(f"intrinsic measures are undefined: {geometry.properties[0].reason}")
        return
    print_table(["run", *map(_heading, PROPERTIES)], _rows(geometry.properties, short))
    if pairs := _rows(geometry.agreements, short):
        print_table(["run", "and", *map(_heading, AGREEMENTS)], pairs)
    print(
        f"on the {geometry.words:,} most frequent words shared by all runs; "
        "± half of the 95 % interval"
    )
    if geometry.zero:
        print(f"left out: words with a zero vector in some run: {geometry.zero:,}")
    for line in _reasons(geometry, short):
        print(line)


def _entry(measure: Measure) -> dict[str, Any]:
    """Return one entry of the JSON."""
    names = ("run",) if len(measure.runs) == 1 else ("a", "b")
    numbers = ("metric", "score", "low", "high", "words")
    return {
        **dict(zip(names, measure.runs, strict=True)),
        **{name: getattr(measure, name) for name in numbers},
        **{n: v for n in ("reason", "word") if (v := getattr(measure, n)) is not None},
    }


def _heading(metric: str) -> str:
    """Return the column heading of a metric."""
    return metric.replace("_frequency", "~freq.").replace("_", " ")


def _rows(measures: Sequence[Measure], short: Mapping[str, str]) -> list[list[str]]:
    """Return a row for each run, or for each two with a defined score."""
    rows: dict[tuple[str, ...], list[Measure]] = {}
    for each in measures:
        rows.setdefault(each.runs, []).append(each)
    return [
        [*(short[run] for run in runs), *map(_cell, of_runs)]
        for runs, of_runs in rows.items()
        if len(runs) == 1 or any(each.score is not None for each in of_runs)
    ]


def _cell(measure: Measure) -> str:
    """Format a number with half its interval, or with a hub's word."""
    if measure.score is None:
        return "undefined"
    if measure.word is not None:
        return f"{measure.score:4.0f} {cut_name(measure.word, name_room(_LONGEST_WORD))}"
    if measure.low is None or measure.high is None:
        return f"{measure.score:6.3f}"
    return f"{measure.score:6.3f} ±{bare((measure.high - measure.low) / 2)}"


def _reasons(geometry: Geometry, short: Mapping[str, str]) -> Iterator[str]:
    """Yield why scores are undefined, one line for each run and reason."""
    undefined: dict[tuple[str, str], list[str]] = {}
    for run in short:
        for measures in (geometry.properties, geometry.agreements):
            reasons: dict[str, set[str | None]] = {}
            for each in measures:
                if run in each.runs:
                    reasons.setdefault(each.metric, set()).add(each.reason)
            for metric, found in reasons.items():
                # blame a run only if all its pairs are undefined for the same reason
                for reason in found if len(found) == 1 else ():
                    if reason is not None:
                        undefined.setdefault((run, reason), []).append(_heading(metric))
    for (run, reason), metrics in undefined.items():
        yield f"undefined: {short[run]}: {', '.join(metrics)}: {reason}"
