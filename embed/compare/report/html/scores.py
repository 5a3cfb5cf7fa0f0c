"""What the page shows of scores: what was compared, scores, differences, intrinsic measures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embed.compare.config import CompareConfig
from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.report.html.scale import Scale, scale_of
from embed.compare.report.result_groups import ResultGroup, group_results, rows_of
from embed.compare.scoring.frequency_bands import EDGES
from embed.compare.scoring.notes import gather_notes
from embed.compare.statistics.ranking import ALPHA

_USUAL = 1.0  # scores are seldom beyond it


def score_views(document: Mapping[str, Any], config: CompareConfig | None) -> dict[str, Any]:
    """Lay out what the document of a comparison tells."""
    panels = group_results(document)
    whole = [panel for panel in panels if panel.section is None]
    bands = [panel for panel in panels if panel.section in EDGES]
    further = [panel for panel in panels if panel.section and panel.section not in EDGES]
    parts = {"whole": whole, "bands": bands, "sections": further}
    return {
        "compared": _compared(document, config, whole),
        "scores": whole and _scores(whole) | {"notes": _notes(document)},
        "sections": further and _scores(further),
        "bands": bands and _bands(bands),
        "differences": any(panel.pairs for panel in panels)
        and {name: [_matrix(each) for each in part if each.pairs] for name, part in parts.items()},
        "intrinsic": document.get("properties")
        and _intrinsic(document["properties"], document["agreements"]),
    }


def _compared(
    document: Mapping[str, Any], config: CompareConfig | None, whole: Sequence[ResultGroup]
) -> dict[str, Any]:
    """What was compared, on what, how, and how often each run is the best."""
    about = {run["run"]: run for run in document["runs"]}
    return {
        "seeds": [len(run["seeds"]) for run in about.values() if "seeds" in run],
        "sets": list({(p.task, p.dataset, p.number): p for p in reversed(whole)}.values())[::-1],
        "unknown": {result["unknown"] for result in document["results"]},
        "config": config,
        "failures": document.get("failures", ()),
        "rows": [_row(about[name], whole) for name in rows_of(document)],
    }


def _row(run: Mapping[str, Any], whole: Sequence[ResultGroup]) -> dict[str, Any]:
    """What a row is, and in how many metrics it is the best or not to be told from it."""
    name, ranked = run["run"], [panel for panel in whole if panel.ranked]
    return {
        "run": name,
        "method": run.get("method"),
        "fingerprint": run.get("fingerprint"),
        "seeds": run.get("seeds"),
        "baseline": name in (ONE_HOT, RANDOM),
        "best": sum(name in panel.best for panel in ranked),
        "equal": sum(name in panel.equals for panel in ranked),
        "scored": sum(name in panel.results for panel in ranked),
    }


def _scores(panels: Sequence[ResultGroup]) -> dict[str, Any]:
    """Panels with their scales."""
    scales = _scales(panels)
    return {"panels": [(p, scales[p.metric]) for p in panels], "scales": _metrics_of(scales)}


def _bands(panels: Sequence[ResultGroup]) -> dict[str, Any]:
    """Panels of the bands of one set and metric beside each other."""
    scales = _scales(panels)
    sets: dict[tuple[Any, ...], dict[str, ResultGroup]] = {}
    for panel in panels:
        place = panel.task, panel.dataset, panel.number, panel.metric
        sets.setdefault(place, {})[str(panel.section)] = panel
    names = [band for band in EDGES if any(band in found for found in sets.values())]
    groups = [
        {
            "first": next(iter(found.values())),
            "runs": list(dict.fromkeys(run for panel in found.values() for run in panel.results)),
            "panels": [found.get(band) for band in names],
            "scale": scales[place[-1]],
        }
        for place, found in sets.items()
    ]
    return {"scales": _metrics_of(scales), "bands": names, "groups": groups}


def _scales(panels: Sequence[ResultGroup]) -> dict[str, Scale]:
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


def _metrics_of(scales: Mapping[str, Scale]) -> dict[Scale, list[str]]:
    """The metrics of each scale."""
    return {
        scale: [metric for metric, other in scales.items() if other == scale]
        for scale in scales.values()
    }


def _notes(document: Mapping[str, Any]) -> list[Any]:
    """What is to be known of how runs were scored."""
    rows = set(rows_of(document))
    return gather_notes(
        (r["run"], r["dataset"], r.get("section"), r["shared_items"], r.get("remark"))
        for r in document["results"]
        if r["run"] in rows
    )


def _matrix(panel: ResultGroup) -> dict[str, Any]:
    """How far every run is ahead of every other on one set and metric."""
    runs = [run for run in panel.results if any(run in pair for pair in panel.pairs)]
    return {
        "panel": panel,
        "band": panel.section if panel.section in EDGES else None,
        "rows": {row: [_difference(panel, row, column) for column in runs] for row in runs},
    }


def _difference(panel: ResultGroup, row: str, column: str) -> dict[str, Any] | None:
    """The score of a row less that of a column; None where it is undefined."""
    entry, sign = panel.pairs.get((row, column)), 1
    if entry is None:
        entry, sign = panel.pairs.get((column, row)), -1
    if entry is None or entry["difference"] is None:
        return None
    difference = sign * entry["difference"]
    sure = entry["p"] is not None and entry["p"] <= ALPHA
    return {
        "difference": difference,
        "ends": sorted(sign * entry[end] for end in ("low", "high") if entry[end] is not None),
        "p": entry["p"],
        "sure": sure,
        "class": ("ahead" if difference > 0 else "behind") if sure and panel.ranked else "unsure",
    }


def _intrinsic(
    properties: Sequence[Mapping[str, Any]], agreements: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Measures of each run, every one with its scale, and of every two runs."""
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
    """For each metric a matrix of runs."""
    for metric in dict.fromkeys(entry["metric"] for entry in agreements):
        entries = [entry for entry in agreements if entry["metric"] == metric]
        found = {pair: e for e in entries for pair in ((e["a"], e["b"]), (e["b"], e["a"]))}
        runs = dict.fromkeys(run for e in entries for run in (e["a"], e["b"]))
        yield metric, {row: [found.get((row, column)) for column in runs] for row in runs}
