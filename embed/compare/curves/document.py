"""The JSON document of a learning curve, from a comparison of all its runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from firth.embed.compare.curves.runs import Point
from firth.embed.compare.report.document import result_entry
from firth.embed.compare.scoring.results import Comparison

if TYPE_CHECKING:  # imports numba
    from firth.corpora.store.corpus import Corpus


def to_document(
    corpus: "Corpus",
    points: Sequence[Point],
    comparison: Comparison,
    unknown: str,
    failures: Sequence[str],
) -> dict[str, Any]:
    """Turn a comparison of all runs into the JSON of a learning curve."""
    by_run = {str(point.run): point for point in points}
    by_row = {  # a group of seeds takes the point of its first run
        row: by_run.get(comparison.groups.get(row, (row,))[0]) for row in comparison.rows
    }
    failed = [*failures, *comparison.failures]
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "methods": list(dict.fromkeys(point.method for point in points)),
        "sizes": sorted({point.sampled.corpus.training_tokens for point in points}),
        "results": [
            _about(score.run, by_row[score.run]) | result_entry(score, comparison, unknown)
            for score in comparison.scores
            if score.run in by_row
        ],
        **({"failures": failed} if failed else {}),
    }


def _about(row: str, point: Point | None) -> dict[str, Any]:
    """Return method and sample of a row; baselines have no point."""
    sample = None if point is None else point.sampled
    return {
        "method": row if point is None else point.method,
        "tokens": sample and sample.corpus.training_tokens,
        "documents": sample and sample.corpus.training_documents,
        "types": sample and sample.types,
    }
