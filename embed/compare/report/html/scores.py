"""Score sections of the page: overview, scores, differences, intrinsic measures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.report.document import ResultGroup, group_results, rows_of
from firth.embed.compare.report.explanations import meaning
from firth.embed.compare.report.html.scale import Scale, scale_of
from firth.embed.compare.scoring.frequency_bands import EDGES
from firth.embed.compare.scoring.notes import gather_notes
from firth.embed.compare.statistics.ranking import ALPHA, Rank

_USUAL = 1.0  # largest absolute value of most metrics


def score_views(document: Mapping[str, Any], config: CompareConfig | None) -> dict[str, Any]:
    """Lay out the sections that show the document of a comparison."""
    groups = group_results(document)
    whole = [group for group in groups if group.section is None]
    bands = [group for group in groups if group.section in EDGES]
    further = [group for group in groups if group.section and group.section not in EDGES]
    parts = {"whole": whole, "bands": bands, "sections": further}
    return {
        "compared": _compared(document, config, whole),
        "scores": whole and _scores(whole) | {"notes": _notes(document)},
        "sections": further and _scores(further),
        "bands": bands and _bands(bands),
        "differences": any(group.pairs for group in groups)
        and {name: [_matrix(each) for each in part if each.pairs] for name, part in parts.items()},
        "intrinsic": document.get("properties")
        and _intrinsic(document["properties"], document["agreements"]),
    }


def _compared(
    document: Mapping[str, Any], config: CompareConfig | None, whole: Sequence[ResultGroup]
) -> dict[str, Any]:
    """Lay out the overview: runs, sets, settings, and how often each run is best."""
    about = {run["run"]: run for run in document["runs"]}
    return {
        "seeds": [len(run["seeds"]) for run in about.values() if "seeds" in run],
        "sets": list({(p.task, p.dataset, p.number): p for p in reversed(whole)}.values())[::-1],
        "unknown": {result["unknown"] for result in document["results"]},
        "config": config,
        "rows": [_row(about[name], whole) for name in rows_of(document)],
    }


def _row(run: Mapping[str, Any], whole: Sequence[ResultGroup]) -> dict[str, Any]:
    """Describe a row, and count the metrics in which it is best or statistically tied."""
    name, ranked = run["run"], [group for group in whole if group.ranked]
    return {
        "run": name,
        "method": run.get("method"),
        "fingerprint": run.get("fingerprint"),
        "seeds": run.get("seeds"),
        "baseline": name in BASELINES,
        "best": sum(group.ranking.get(name) is Rank.BEST for group in ranked),
        "equal": sum(group.ranking.get(name) is Rank.EQUAL for group in ranked),
        "scored": sum(name in group.results for group in ranked),
    }


def _scores(groups: Sequence[ResultGroup]) -> dict[str, Any]:
    """Pair each result group with its scale."""
    scales = _scales(groups)
    shown = [(group, scales[group.metric]) for group in groups]
    return {"groups": shown, "scales": _metrics_of(scales), "explained": _explained(groups)}


def _explained(groups: Sequence[ResultGroup]) -> dict[str, dict[str, str]]:
    """Return the tasks shown, and what their metrics are."""
    metrics: dict[str, dict[str, str]] = {}
    for group in groups:
        if found := meaning(group.task, group.metric):
            metrics.setdefault(group.task, {})[group.metric] = found
    return metrics


def _bands(groups: Sequence[ResultGroup]) -> dict[str, Any]:
    """Lay out the frequency bands of each set and metric side by side."""
    scales = _scales(groups)
    sets: dict[tuple[Any, ...], dict[str, ResultGroup]] = {}
    for group in groups:
        key = group.task, group.dataset, group.number, group.metric
        sets.setdefault(key, {})[str(group.section)] = group
    names = [band for band in EDGES if any(band in found for found in sets.values())]
    rows = [
        {
            "first": next(iter(found.values())),
            "runs": list(dict.fromkeys(run for group in found.values() for run in group.results)),
            "bands": [found.get(band) for band in names],
            "scale": scales[key[-1]],
        }
        for key, found in sets.items()
    ]
    return {
        "scales": _metrics_of(scales),
        "bands": names,
        "rows": rows,
        "explained": _explained(groups),
    }


def _scales(groups: Sequence[ResultGroup]) -> dict[str, Scale]:
    """Choose one scale for all metrics within [-1, 1], and one for each other metric."""
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for group in groups:
        by_metric.setdefault(group.metric, []).extend(group.results.values())
    own = {metric: scale_of(entries) for metric, entries in by_metric.items()}
    usual = [s for s in own.values() if s.low >= -_USUAL and s.high <= _USUAL]
    if usual:
        common = Scale(min(scale.low for scale in usual), max(scale.high for scale in usual))
        return {metric: common if scale in usual else scale for metric, scale in own.items()}
    return own


def _metrics_of(scales: Mapping[str, Scale]) -> dict[Scale, list[str]]:
    """Return the metrics of each scale."""
    return {
        scale: [metric for metric, other in scales.items() if other == scale]
        for scale in scales.values()
    }


def _notes(document: Mapping[str, Any]) -> list[Any]:
    """Return the notes on how runs were scored."""
    rows = set(rows_of(document))
    return gather_notes(
        (r["run"], r["dataset"], r.get("section"), r["shared_items"], r.get("remark"))
        for r in document["results"]
        if r["run"] in rows
    )


def _matrix(group: ResultGroup) -> dict[str, Any]:
    """Lay out the pairwise differences on one set and metric."""
    runs = [run for run in group.results if any(run in pair for pair in group.pairs)]
    return {
        "group": group,
        "band": group.section if group.section in EDGES else None,
        "rows": {row: [_difference(group, row, column) for column in runs] for row in runs},
    }


def _difference(group: ResultGroup, row: str, column: str) -> dict[str, Any] | None:
    """Return the score of a row minus that of a column; None if undefined."""
    entry, sign = group.pairs.get((row, column)), 1
    if entry is None:
        entry, sign = group.pairs.get((column, row)), -1
    if entry is None or entry["difference"] is None:
        return None
    difference = sign * entry["difference"]
    color = "ahead" if difference > 0 else "behind"
    significant = entry["p"] is not None and entry["p"] <= ALPHA
    return {
        "difference": difference,
        "ends": sorted(sign * entry[end] for end in ("low", "high") if entry[end] is not None),
        "p": entry["p"],
        "significant": significant,
        "class": color if significant and group.ranked else "insignificant",
    }


def _intrinsic(
    properties: Sequence[Mapping[str, Any]], agreements: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Lay out the measures of each run with their scales, and those of pairs of runs."""
    by_run: dict[str, dict[str, Mapping[str, Any]]] = {}
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for entry in properties:
        by_run.setdefault(entry["run"], {})[entry["metric"]] = entry
        by_metric.setdefault(entry["metric"], []).append(entry)
    return {
        "n_words": max(entry["words"] for entry in properties),
        "scales": {metric: scale_of(entries) for metric, entries in by_metric.items()},
        "properties": by_run,
        "agreements": dict(_agreements(agreements)),
    }


def _agreements(
    agreements: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, list[Mapping[str, Any] | None]]]]:
    """Yield each metric with its matrix of runs."""
    for metric in dict.fromkeys(entry["metric"] for entry in agreements):
        entries = [entry for entry in agreements if entry["metric"] == metric]
        found = {pair: e for e in entries for pair in ((e["a"], e["b"]), (e["b"], e["a"]))}
        runs = dict.fromkeys(run for e in entries for run in (e["a"], e["b"]))
        yield metric, {row: [found.get((row, column)) for column in runs] for row in runs}
