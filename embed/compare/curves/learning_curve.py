"""Learning curves: every method on nested samples of one corpus, all runs on the same items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpora.common.console import note
from corpora.common.options import check, setting

if TYPE_CHECKING:  # numba comes with them, and --help needs only the options
    from corpora.store.corpus import Corpus
    from embed.compare.curves.runs import Point
    from embed.compare.scoring.results import Comparison, Score

CURVE = "curve.json"
WHOLE = "all"  # what the size of the whole corpus is called


@dataclass(frozen=True, kw_only=True)
class CurveConfig:
    """Which methods learn from how much text; each with its own default options."""

    methods: str = setting(
        "svd,skipgram,cbow", "Methods, with commas between: svd, skipgram, cbow, mlm.",
        metavar="METHOD,...",
    )  # fmt: skip
    sizes: str | None = setting(
        None,
        "Tokens of the samples, such as 500K,1M,2.5M; by default doubled from 1M, or from an "
        "eighth of a small corpus. All of the corpus is always the last.",
        metavar="SIZE,...",
    )
    seeds: int = setting(
        1,
        "Train so many times, with --seed and those that follow; svd once, as it only starts "
        "from its seed.",
        at_least=1,
        at_most=1_000,
    )
    seed: int = setting(
        1,
        "Seed of the samples, of the first training, of the random baseline and of the draws.",
        at_least=0,
        below=2**63,
        metavar="SEED",
    )

    def __post_init__(self) -> None:
        """Hold every option against its range."""
        check(self)


@dataclass(frozen=True, eq=False)
class Sampled:
    """A nested sample of the corpus.

    Attributes
    ----------
    name : str
        Its size as it was asked for, such as ``2.5M``; ``all`` for the whole.
    corpus : Corpus
        Of these documents alone.
    types : int
        Distinct words and marks in its training documents.
    """

    name: str
    corpus: "Corpus"
    types: int


def take_samples(corpus: "Corpus", sizes: Sequence[int], seed: int) -> list[Sampled]:
    """Sample a corpus, each sample within the next; the whole corpus last.

    Parameters
    ----------
    corpus : Corpus
        Of whose documents.
    sizes : sequence of int
        Tokens, ascending.
    seed : int
        Which documents come first.

    Returns
    -------
    list of Sampled
        Each another; a note tells of sizes that give no sample of their own.
    """
    from corpora.store.sampling import size_name

    samples: list[Sampled] = []
    for size in sizes:
        sample, name = corpus.sample(size, seed=seed), size_name(size)
        if sample.fingerprint == corpus.fingerprint:
            note(f"{name}: is all of {corpus.path} ({corpus.training_tokens:,} tokens to train on)")
        elif samples and sample.fingerprint == samples[-1].corpus.fingerprint:
            note(f"{name}: left out, the same documents as {samples[-1].name}: they are long")
        else:
            samples.append(Sampled(name, sample, _n_types(sample)))
    return [*samples, Sampled(WHOLE, corpus, _n_types(corpus))]


def to_document(
    corpus: "Corpus",
    points: Sequence["Point"],
    comparison: "Comparison",
    unknown: str,
    failures: Sequence[str],
) -> dict[str, Any]:
    """Turn a comparison of all runs into the JSON of a learning curve.

    Parameters
    ----------
    corpus : Corpus
        The whole.
    points : sequence of Point
        The runs that were compared.
    comparison : Comparison
        Of them, by their paths; those that differ in the seed only as groups.
    unknown : str
        What became of items with unknown words.
    failures : sequence of str
        Why runs could not be trained, a line each.

    Returns
    -------
    dict
        ``corpus``, ``fingerprint``, ``methods``, ``sizes`` (tokens). ``results``: ``method``,
        ``tokens``, ``documents`` and ``types`` of the sample (null for baselines), ``run``,
        ``task``, ``dataset``, ``metric``, ``score``, ``low``, ``high`` (null where undefined),
        ``items_used``, ``items_total``, ``shared_items``, ``unknown``; ``seeds`` and
        ``deviation`` where there are several. ``failures``, where there are such.
    """
    by_run = {str(point.run): point for point in points}
    # of seeds, the first stands for all
    places = {row: by_run.get(comparison.groups.get(row, (row,))[0]) for row in comparison.rows}
    results = [
        _result(score, places[score.run], unknown, score.run in comparison.groups)
        for score in _by_panel(comparison.scores, list(places))
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


def _n_types(corpus: "Corpus") -> int:
    """Distinct words and marks of the training documents."""
    return int((corpus.stored.count_types("train") > 0).sum())


def _by_panel(scores: Sequence["Score"], rows: Sequence[str]) -> Iterator["Score"]:
    """Scores of these rows, set by set, metric by metric, on shared items first."""
    rank = {row: number for number, row in enumerate(rows)}
    panels: dict[tuple[int, str], list[Score]] = {}
    for score in scores:
        if score.run in rank:
            panels.setdefault((score.place, score.measured.metric), []).append(score)
    for panel in panels.values():
        yield from sorted(panel, key=lambda score: (not score.shared, rank[score.run]))


def _result(score: "Score", point: "Point | None", unknown: str, grouped: bool) -> dict[str, Any]:
    """One entry of the JSON; baselines have no point."""
    measured, corpus = score.measured, point.sampled.corpus if point else None
    return {
        "method": point.method if point else score.run,
        "tokens": corpus.training_tokens if corpus else None,
        "documents": corpus.training_documents if corpus else None,
        "types": point.sampled.types if point else None,
        "run": score.run,
        "task": measured.task,
        "dataset": measured.dataset,
        "metric": measured.metric,
        "score": score.score,
        "low": score.low,
        "high": score.high,
        "items_used": len(measured.items),
        "items_total": measured.items_total,
        "shared_items": score.shared,
        "unknown": unknown,
        **({"seeds": score.n_seeds, "deviation": score.deviation} if grouped else {}),
    }
