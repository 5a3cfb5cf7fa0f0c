"""The JSON document of a learning curve, from a comparison of all its runs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from firth.embed.compare.curves.runs import Point
from firth.embed.compare.report.document import score_entry
from firth.embed.compare.scoring.notes import few_note, few_of

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus
    from firth.embed.compare.scoring.results import Comparison, Score


def to_document(
    corpus: "Corpus",
    points: Sequence["Point"],
    comparison: "Comparison",
    unknown: str,
    failures: Sequence[str],
) -> dict[str, Any]:
    """Turn a comparison of all runs into the JSON of a learning curve."""
    by_run = {str(point.run): point for point in points}
    # a group of seeds takes the point of its first run
    points_by_row = {
        row: by_run.get(comparison.groups.get(row, (row,))[0]) for row in comparison.rows
    }
    results = [
        _result(score, points_by_row[score.run], unknown, score.run in comparison.groups)
        for score in _by_group(comparison.scores, list(points_by_row))
    ]
    failed = [*failures, *comparison.failures]
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "methods": list(dict.fromkeys(point.method for point in points)),
        "sizes": sorted({point.sampled.corpus.training_tokens for point in points}),
        "results": results,
        **({"failures": failed} if failed else {}),
    }


def _by_group(scores: Sequence["Score"], rows: Sequence[str]) -> Iterator["Score"]:
    """Yield the scores of these rows by set, section and metric, those on shared items first."""
    rank = {row: number for number, row in enumerate(rows)}
    groups: dict[tuple[int, str | None, str], list[Score]] = {}
    for score in scores:
        if score.run in rank:
            what = score.set_index, score.measured.section, score.measured.metric
            groups.setdefault(what, []).append(score)
    for group in groups.values():
        yield from sorted(group, key=lambda score: (not score.shared, rank[score.run]))


def _result(score: "Score", point: "Point | None", unknown: str, grouped: bool) -> dict[str, Any]:
    """Return one entry of the JSON; baselines have no point."""
    section, corpus = score.measured.section, point.sampled.corpus if point else None
    few = few_of(score)
    return {
        "method": point.method if point else score.run,
        "tokens": corpus.training_tokens if corpus else None,
        "documents": corpus.training_documents if corpus else None,
        "types": point.sampled.types if point else None,
        **score_entry(score),
        "shared_items": score.shared,
        "unknown": unknown,
        **({} if section is None else {"section": section}),
        **({} if few is None else {"remark": few_note(score), "few": few}),
        **({"seeds": score.n_seeds, "deviation": score.deviation} if grouped else {}),
    }
