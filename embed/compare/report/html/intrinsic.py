"""Intrinsic measures in a report: each run alone, and how far every two agree."""

from collections.abc import Mapping, Sequence
from typing import Any

from embed.compare.report.html.escape import Html, decimal, join, name, table, tag
from embed.compare.report.html.intervals import Look, Scale, interval_text, scale_of, show_interval
from embed.compare.report.html.scores import metric_name

_MEANING = {
    "mean_cosine": "of two words; 0 where directions are spread evenly",
    "isotropy": "1 where all directions are equally likely",
    "hubness": "skewness of how often words are neighbors of others",
    "largest_hub": "how often the most frequent neighbor is one",
    "length_frequency": "rank correlation of length and frequency",
    "neighbors": "share of the ten nearest words that both runs have",
    "procrustes": "distance left after turning one onto the other; 0 is the same shape",
}


def show_intrinsic(
    properties: Sequence[Mapping[str, Any]],
    agreements: Sequence[Mapping[str, Any]],
    looks: Mapping[str, Look],
) -> Html:
    """Show the measures that need no evaluation set.

    Parameters
    ----------
    properties, agreements : sequence of mapping
        As :func:`~embed.compare.report.intrinsic_table.geometry_json` gives them.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        A table of runs and a matrix for each kind of agreement.
    """
    n_words = max((entry["words"] for entry in properties), default=0)
    metrics = list(dict.fromkeys(entry["metric"] for entry in properties))
    kinds = list(dict.fromkeys(entry["metric"] for entry in agreements))
    return join(
        [
            tag("p", f"On the {n_words:,} words that come first in all runs."),
            _properties(properties, metrics, looks),
            *(
                _matrix([e for e in agreements if e["metric"] == kind], kind, looks)
                for kind in kinds
            ),
        ],
        "\n",
    )


def _properties(
    properties: Sequence[Mapping[str, Any]], metrics: Sequence[str], looks: Mapping[str, Look]
) -> Html:
    """A row a run, a column a measure, each with a scale of its own."""
    found = {(entry["run"], entry["metric"]): entry for entry in properties}
    scales = {m: scale_of([e for e in properties if e["metric"] == m]) for m in metrics}
    rows = (
        tag(
            "tr",
            tag("th", looks[run].show(), scope="row"),
            *(_cell(found.get((run, metric)), scales[metric], looks[run]) for metric in metrics),
        )
        for run in dict.fromkeys(entry["run"] for entry in properties)
    )
    heads = [
        tag("span", metric_name(metric), tag("small", _MEANING.get(metric, "")), class_="head")
        for metric in metrics
    ]
    caption = "Each run by itself, with 95 % intervals; every column has a scale of its own"
    return table(caption, ("Run", *heads), rows, class_="intrinsic sortable")


def _cell(entry: Mapping[str, Any] | None, scale: Scale, look: Look) -> Html:
    """A number and its picture; of a hub, its word."""
    if entry is None or entry["score"] is None:
        reason = "" if entry is None else entry.get("reason", "")
        return tag("td", tag("em", "undefined"), tag("small", f" {reason}"), class_="wrapped")
    if "word" in entry:
        return tag(
            "td", f"{entry['score']:,.0f} ", tag("small", name(entry["word"])),
            data_value=repr(float(entry["score"])),
        )  # fmt: skip
    return tag(
        "td",
        tag("span", decimal(entry["score"]), class_="figure"),
        show_interval(entry, scale, look.color),
        tag("small", interval_text(entry)),
        class_="drawn",
        data_value=repr(float(entry["score"])),
    )


def _matrix(entries: Sequence[Mapping[str, Any]], kind: str, looks: Mapping[str, Look]) -> Html:
    """How far every two runs agree."""
    found = {pair: e for e in entries for pair in ((e["a"], e["b"]), (e["b"], e["a"]))}
    runs = list(dict.fromkeys(run for e in entries for run in (e["a"], e["b"])))
    rows = (
        tag(
            "tr",
            tag("th", looks[row].show(), scope="row"),
            *(_agreement(found.get((row, column))) for column in runs),
        )
        for row in runs
    )
    caption = f"Agreement of runs, {metric_name(kind)}: {_MEANING.get(kind, '')}"
    return table(caption, ("", *(looks[run].show() for run in runs)), rows, class_="matrix")


def _agreement(entry: Mapping[str, Any] | None) -> Html:
    """One pair; nothing of a run with itself."""
    if entry is None or entry["score"] is None:
        return tag("td", "–" if entry is None else tag("em", "undefined"), class_="none")
    return tag(
        "td",
        tag("span", decimal(entry["score"]), class_="figure"),
        tag("small", interval_text(entry)),
    )
