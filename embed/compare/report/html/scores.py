"""The scores of a report: tables with intervals as pictures, and bands of frequency."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embed.compare.report.html.escape import Html, chance, decimal, join, name, table, tag
from embed.compare.report.html.intervals import Look, Scale, interval_text, scale_of, show_interval
from embed.compare.report.result_groups import ScorePanel, rows_of
from embed.compare.scoring.frequency_bands import EDGES
from embed.compare.scoring.notes import gather_remarks

_HEAD = ("Set", "Metric", "Run", "Score", "95 % interval", "Items", "On all it knows")
_USUAL = 1.0  # scores are seldom beyond it


def show_scores(panels: Sequence[ScorePanel], looks: Mapping[str, Look], caption: str) -> Html:
    """Show the scores of sets, or of their sections, a row for each run.

    Parameters
    ----------
    panels : sequence of ScorePanel
        At least one.
    looks : mapping of str to Look
        By run.
    caption : str
        What the table shows.

    Returns
    -------
    Html
        A table that can be sorted and filtered.
    """
    scales = _scales(panels)
    rows = (row for panel in panels for row in _score_rows(panel, looks, scales[panel.metric]))
    told = tag("p", _scale_note(scales), class_="note")
    return join([told, table(caption, _HEAD, rows, class_="scores sortable filterable")], "\n")


def show_bands(panels: Sequence[ScorePanel], looks: Mapping[str, Look]) -> Html:
    """Show the scores of bands of frequency beside each other.

    Parameters
    ----------
    panels : sequence of ScorePanel
        Of bands, as :data:`~embed.compare.scoring.frequency_bands.EDGES` names them.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        A table that can be sorted and filtered, with a column for each band.
    """
    scales = _scales(panels)
    sets: dict[tuple[Any, ...], dict[str, ScorePanel]] = {}
    for panel in panels:
        place = panel.task, panel.dataset, panel.number, panel.metric
        sets.setdefault(place, {})[str(panel.section)] = panel
    names = [band for band in EDGES if any(band in bands for bands in sets.values())]
    rows = []
    for bands in sets.values():
        first = next(iter(bands.values()))
        runs = dict.fromkeys(run for panel in bands.values() for run in panel.results)
        for index, run in enumerate(runs):
            cells = [_band(bands.get(band), run, looks, scales[first.metric]) for band in names]
            rows.append(_row(first, index, looks[run], *cells))
    heads = (*_HEAD[:3], *names)
    made = table(
        "Scores by the frequency rank of an item's rarest word, with 95 % intervals",
        heads,
        rows,
        class_="scores bands sortable filterable",
    )
    return join([tag("p", _scale_note(scales), class_="note"), made], "\n")


def show_remarks(document: Mapping[str, Any], looks: Mapping[str, Look]) -> Html | None:
    """Show what is to be known of how runs were scored.

    Parameters
    ----------
    document : mapping
        Of a comparison.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html or None
        A list; None where nothing was remarked.
    """
    rows = set(rows_of(document))
    remarks = gather_remarks(
        (r["run"], r["dataset"], r.get("section"), r["shared_items"], r.get("remark"))
        for r in document["results"]
        if r["run"] in rows
    )
    entries = (
        tag("li", *(looks[run].show() for run in remark.runs), " on ", name(remark.place), ": ",
            remark.text)
        for remark in remarks
    )  # fmt: skip
    return tag("ul", *entries, class_="remarks") if remarks else None


def set_name(panel: ScorePanel) -> str:
    """Name the set of a panel, and its section.

    Parameters
    ----------
    panel : ScorePanel
        Of a band, too.

    Returns
    -------
    str
        With a number where sets share their name.
    """
    numbered = panel.dataset if panel.number == 0 else f"{panel.dataset} ({panel.number + 1})"
    banded = panel.section is None or panel.section in EDGES
    return numbered if banded else f"{numbered}: {panel.section}"


def metric_name(metric: str) -> str:
    """Name a metric as tables do.

    Parameters
    ----------
    metric : str
        Such as ``accuracy_3cosmul``.

    Returns
    -------
    str
        Such as ``3cosmul``.
    """
    return metric.removeprefix("accuracy_").replace("_", " ")


def _scales(panels: Sequence[ScorePanel]) -> dict[str, Scale]:
    """One scale for all metrics whose scores end at 1, and one for each of the others."""
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for panel in panels:
        by_metric.setdefault(panel.metric, []).extend(panel.results.values())
    own = {metric: scale_of(entries) for metric, entries in by_metric.items()}
    usual = [s for s in own.values() if s.low >= -_USUAL and s.high <= _USUAL]
    if usual:
        common = Scale(min(scale.low for scale in usual), max(scale.high for scale in usual))
        return {metric: common if scale in usual else scale for metric, scale in own.items()}
    return own


def _scale_note(scales: Mapping[str, Scale]) -> str:
    """Of what the pictures reach from and to."""
    metrics: dict[Scale, list[str]] = {}
    for metric, scale in scales.items():
        metrics.setdefault(scale, []).append(metric_name(metric))
    told = [
        f"{decimal(scale.low, 1)} to {decimal(scale.high, 1)}"
        + (f" ({', '.join(names)})" if len(metrics) > 1 else "")
        for scale, names in metrics.items()
    ]
    return f"All pictures have the same scale, {told[0]}." if len(told) == 1 else (
        f"Scales of the pictures: {'; '.join(told)}."
    )  # fmt: skip


def _score_rows(panel: ScorePanel, looks: Mapping[str, Look], scale: Scale) -> Iterator[Html]:
    """The rows of one set and metric."""
    for index, (run, result) in enumerate(panel.results.items()):
        items = result["items_used"]
        yield _row(
            panel,
            index,
            looks[run],
            _score_cell(panel, run),
            _interval_cell(panel, run, looks, scale),
            tag("td", f"{items:,}", class_="number", data_value=items),
            _own_cell(panel.own.get(run, result)),
        )


def _row(panel: ScorePanel, index: int, look: Look, *cells: Html) -> Html:
    """A row whose first cells name set, metric and run."""
    dataset, metric = set_name(panel), metric_name(panel.metric)
    return tag(
        "tr",
        tag("td", name(dataset), tag("small", panel.task), class_="what"),
        tag("td", metric, class_="what"),
        tag("th", look.show(), scope="row"),
        *cells,
        class_="first" if index == 0 else None,
        data_set=dataset,
        data_metric=metric,
    )


def _score_cell(panel: ScorePanel, run: str) -> Html:
    """A number, its deviation over seeds, and whether it is the best."""
    result = panel.results[run]
    if result["score"] is None:
        return tag("td", tag("em", "undefined"), class_="number")
    spread = result.get("deviation")
    return tag(
        "td",
        decimal(result["score"]),
        None if spread is None else tag("small", f" ± {decimal(spread)}"),
        _mark(panel, run),
        class_="number",
        data_value=repr(float(result["score"])),
    )


def _own_cell(result: Mapping[str, Any]) -> Html:
    """The score of a run on all items that it knows itself, and how many these are."""
    known, score = result.get("items_known", result["items_used"]), result["score"]
    return tag(
        "td",
        tag("em", "undefined") if score is None else decimal(score),
        tag("small", f" {known:,} of {result['items_total']:,}"),
        class_="number",
        data_value=None if score is None else repr(float(score)),
    )


def _mark(panel: ScorePanel, run: str) -> Html | None:
    """Whether a run is the best, or cannot be told from it."""
    if run in panel.best:
        return tag("span", "best", class_="mark best")
    if run in panel.untested and panel.pairs:
        return tag("span", "no test", class_="mark none")
    return tag("span", "= best", class_="mark") if run in panel.equals else None


def _interval_cell(panel: ScorePanel, run: str, looks: Mapping[str, Look], scale: Scale) -> Html:
    """The picture and its numbers, or why there is none."""
    result = panel.results[run]
    if result["score"] is None:
        return tag("td", tag("small", result.get("reason", "")), class_="wrapped")
    picture = show_interval(result, scale, looks[run].color, hollow=run in panel.worse)
    value = None if result["low"] is None else repr(float(result["low"]))
    told = [interval_text(result)] if value is not None else []
    if "p" in result:  # of a test of this score alone
        told.append(chance(result["p"]))
    return tag("td", picture, tag("small", "; ".join(told)), class_="drawn", data_value=value)


def _band(panel: ScorePanel | None, run: str, looks: Mapping[str, Look], scale: Scale) -> Html:
    """One run in one band: number, mark, picture and items."""
    result = None if panel is None else panel.results.get(run)
    if panel is None or result is None or result["score"] is None:
        reason = "" if result is None else result.get("reason", "")
        return tag("td", tag("em", "undefined"), tag("small", f" {reason}"), class_="wrapped")
    return tag(
        "td",
        tag("span", decimal(result["score"]), class_="figure"),
        tag("small", f"n = {result['items_used']:,}"),
        _mark(panel, run),
        show_interval(result, scale, looks[run].color, hollow=run in panel.worse),
        class_="drawn",
        data_value=repr(float(result["score"])),
    )
