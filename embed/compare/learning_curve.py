"""Learning curves: every method on nested samples of one corpus, all runs on the same items."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.artifacts import CHECKSUMS
from corpora.console import note
from corpora.errors import ArtifactError, FirthError
from corpora.seeds import read_training
from corpora.settings import check, setting

if TYPE_CHECKING:  # numba comes with them, and --help needs only the options
    from corpora.corpus import Corpus
    from embed.compare.results import Comparison, Score

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
    seeds: int = setting(1, "Train so many times, with --seed and those that follow.", at_least=1)
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


@dataclass(frozen=True)
class Recipe:
    """How a method is trained.

    Parameters
    ----------
    config : callable
        ``(seed=seed) -> dataclass``, its options, the others as they are by default.
    train : callable
        ``(corpus, options, out) -> Path``; goes on where it was interrupted.
    """

    config: Callable[..., Any]
    train: Callable[["Corpus", Any, Path], Path]


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


@dataclass(frozen=True, eq=False)
class Point:
    """One method on one sample, with one seed.

    Attributes
    ----------
    method : str
        Its name.
    sampled : Sampled
        What it learns from.
    seed : int
        Of the training.
    run : Path
        Where it stands, or will.
    """

    method: str
    sampled: Sampled
    seed: int
    run: Path


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
    from corpora.nested import size_name

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


def lay_out(
    methods: Sequence[str], samples: Sequence[Sampled], seeds: Sequence[int], out: Path
) -> list[Point]:
    """Name all runs of a curve.

    Parameters
    ----------
    methods : sequence of str
        Their names.
    samples : sequence of Sampled
        Ascending.
    seeds : sequence of int
        Of the trainings; runs are named by them where there are several.
    out : Path
        The folder of the runs.

    Returns
    -------
    list of Point
        The smallest sample first.
    """
    end = "-seed{}" if len(seeds) > 1 else ""
    return [
        Point(method, sampled, seed, out / f"{method}-{sampled.name}{end.format(seed)}")
        for sampled in samples
        for method in methods
        for seed in seeds
    ]


def refuse_others(points: Sequence[Point], recipes: Mapping[str, Recipe], out: Path) -> None:
    """Refuse a folder where runs of other options or other text stand, before any work.

    Parameters
    ----------
    points : sequence of Point
        The runs to make.
    recipes : mapping of str to Recipe
        How, by method.
    out : Path
        Their folder.

    Raises
    ------
    ArtifactError
        Names the first.
    """
    if (out / CHECKSUMS).exists() or (out.exists() and not out.is_dir()):
        raise ArtifactError(f"{out}: is no folder for the runs of a curve; choose another --out")
    for point in points:
        if point.run.exists():
            _refuse_other(point, recipes[point.method].config(seed=point.seed))


def train_points(
    points: Sequence[Point], recipes: Mapping[str, Recipe]
) -> tuple[list[Point], list[str]]:
    """Train what is not there yet; a run that was interrupted goes on.

    Parameters
    ----------
    points : sequence of Point
        The runs, those that stand already checked by :func:`refuse_others`.
    recipes : mapping of str to Recipe
        How, by method.

    Returns
    -------
    trained : list of Point
        Those whose run is there now.
    failures : list of str
        Why the others could not be trained, a line each: mostly too little text.

    Raises
    ------
    ArtifactError
        A run cannot be written.
    """
    trained, failures = [], []
    for point in points:
        if point.run.exists():
            note(f"{point.run}: kept")
        else:
            corpus, recipe = point.sampled.corpus, recipes[point.method]
            note(
                f"{point.run}: training on {corpus.training_tokens:,} tokens of "
                f"{corpus.training_documents:,} documents"
            )
            try:
                recipe.train(corpus, recipe.config(seed=point.seed), point.run)
            except ArtifactError:
                raise
            except FirthError as error:
                failures.append(f"{point.run.name}: {error}")
                continue
        trained.append(point)
    return trained, failures


def to_document(
    corpus: "Corpus",
    points: Sequence[Point],
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
        _result(score, places[score.run], unknown, len(comparison.groups.get(score.run, ())))
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
    from corpora.view import count_types

    return int((count_types(corpus, "train") > 0).sum())


def _refuse_other(point: Point, config: Any) -> None:
    """Refuse a run that is not what would be made now."""
    made = read_training(point.run)
    if made is None:
        raise _in_the_way(point, "but is none")
    if made.method != point.method or made.corpus != point.sampled.corpus.fingerprint:
        raise _in_the_way(point, "but was made by another method or of other text")
    there = {**made.options, "seed": made.seed}
    # what is None was settled by the method itself, what is not there changes no vectors
    differ = [
        name
        for name, value in json.loads(json.dumps(asdict(config))).items()
        if value is not None and name in there and there[name] != value
    ]
    if differ:
        raise _in_the_way(point, f"but has another {', '.join(differ)}")


def _in_the_way(point: Point, why: str) -> ArtifactError:
    """A refusal, not raised."""
    return ArtifactError(
        f"{point.run}: is where a run of {point.method} shall stand, {why}; move it or choose "
        "another --out"
    )


def _by_panel(scores: Sequence["Score"], rows: Sequence[str]) -> Iterator["Score"]:
    """Scores of these rows, set by set, metric by metric, on shared items first."""
    rank = {row: number for number, row in enumerate(rows)}
    panels: dict[tuple[int, str], list[Score]] = {}
    for score in scores:
        if score.run in rank:
            panels.setdefault((score.place, score.measured.metric), []).append(score)
    for panel in panels.values():
        yield from sorted(panel, key=lambda score: (not score.shared, rank[score.run]))


def _result(score: "Score", point: Point | None, unknown: str, n_seeds: int) -> dict[str, Any]:
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
        **({"seeds": n_seeds, "deviation": score.deviation} if n_seeds else {}),
    }
