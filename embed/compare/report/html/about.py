"""The first section of a report: what was compared, and who is best how often."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.report.contents import ReportParts
from embed.compare.report.html.escape import Html, join, name, table, tag
from embed.compare.report.html.intervals import Look
from embed.compare.report.html.scores import set_name
from embed.compare.report.result_groups import ScorePanel, rows_of

_UNKNOWN = {
    "skip": "Items with a word that some run does not know are left out.",
    "zero": "Every item is asked: a word that a run does not know has a zero vector.",
    "mean": "Every item is asked: a word that a run does not know has the mean of all vectors.",
}


def show_about(
    document: Mapping[str, Any],
    parts: ReportParts,
    looks: Mapping[str, Look],
    whole: Sequence[ScorePanel],
) -> Html:
    """Tell what was compared.

    Parameters
    ----------
    document : mapping
        Of a comparison.
    parts : ReportParts
        How it was made.
    looks : mapping of str to Look
        By run.
    whole : sequence of ScorePanel
        Of whole sets.

    Returns
    -------
    Html
        A paragraph, what failed, and the runs with how often each is the best.
    """
    failures = document.get("failures", ())
    return join(
        [
            tag("p", *_paragraph(document, parts, whole)),
            _failures(failures) if failures else None,
            _glance(document, looks, whole) if whole else None,
        ],
        "\n",
    )


def _paragraph(
    document: Mapping[str, Any], parts: ReportParts, whole: Sequence[ScorePanel]
) -> Iterator[str]:
    """What was compared, on what, and how."""
    seeds = {row["run"]: len(row["seeds"]) for row in document["runs"] if "seeds" in row}
    given = [row for row in rows_of(document) if row not in (ONE_HOT, RANDOM)]
    yield f"{count(len(given), 'run')} beside one-hot and random vectors"
    if seeds:
        yield f" ({sum(seeds.values())} trainings with other seeds are {count(len(seeds), 'row')})"
    sets = dict.fromkeys((p.task, p.dataset, p.number) for p in whole)
    yield f", scored on {count(len(sets), 'set')}: "
    yield ", ".join(
        f"{set_name(first)} ({_items(first)})"
        for place in sets
        for first in [next(p for p in whole if (p.task, p.dataset, p.number) == place)]
    )
    yield ". "
    unknown = {result["unknown"] for result in document["results"]}
    yield " ".join(_UNKNOWN[each] for each in _UNKNOWN if each in unknown)
    if parts.config is not None:
        yield f" Intervals and tests are from {parts.config.replicates:,} draws of items, seed "
        yield f"{parts.config.seed}."


def _items(panel: ScorePanel) -> str:
    """How many items of a set all runs were asked."""
    total = max(result["items_total"] for result in panel.results.values())
    used = max(result["items_used"] for result in panel.results.values())
    return f"{used:,} of {total:,} items"


def count(number: int, what: str) -> str:
    """Write a number and what is counted.

    Parameters
    ----------
    number : int
        How many.
    what : str
        In the singular.

    Returns
    -------
    str
        Such as ``2 runs``.
    """
    return f"{number} {what}" + ("" if number == 1 else "s")


def _failures(failures: Sequence[str]) -> Html:
    """What could not be scored or read."""
    entries = (tag("li", failure) for failure in failures)
    return tag(
        "div", tag("p", tag("b", "Not all could be scored:")), tag("ul", *entries), class_="warn"
    )


def _glance(
    document: Mapping[str, Any], looks: Mapping[str, Look], whole: Sequence[ScorePanel]
) -> Html:
    """Every row: what it is, and in how many metrics it is the best or not to be told from it."""
    about = {run["run"]: run for run in document["runs"]}
    ranked = [panel for panel in whole if panel.ranked]
    rows = []
    for row in rows_of(document):
        best = sum(row in panel.best for panel in ranked)
        equal = sum(row in panel.equals for panel in ranked)
        n_scored = sum(row in panel.results for panel in ranked)
        made = about[row].get("seeds")
        rows.append(
            tag(
                "tr",
                tag("th", looks[row].show(), scope="row"),
                tag("td", str(about[row].get("method") or "–")),
                tag("td", best, class_="number", data_value=best),
                tag("td", equal, class_="number", data_value=equal),
                tag("td", n_scored, class_="number", data_value=n_scored),
                tag("td", *_path(row, made), class_="wrapped"),
                tag("td", tag("code", about[row].get("fingerprint") or "–")),
            )
        )
    heads = ("Run", "Method", "Best", "= best", "Scored", "Path", "Fingerprint")
    caption = "The runs, and in how many scores each is the best or cannot be told from it"
    return table(caption, heads, rows, class_="sortable")


def _path(row: str, seeds: Sequence[str] | None) -> Iterator[Html | str]:
    """Where a run lies, and those of other seeds."""
    yield "–" if row in (ONE_HOT, RANDOM) else name(row)
    if seeds:
        yield tag("small", f" ({count(len(seeds), 'seed')})")
