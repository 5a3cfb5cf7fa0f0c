"""The runs of a learning curve: which stand already, what is in the way, and their training."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.artifacts.artifact import (
    CHECKSUMS,
    MAKER,
    artifact_paths,
    read_json,
    verify,
    write_json,
)
from corpora.artifacts.atomic import write_whole
from corpora.artifacts.seeds import check_can_start, read_training, unfinished_maker
from corpora.common.errors import ArtifactError, FirthError
from corpora.common.reporting import note
from embed.compare.curves.learning_curve import CURVE

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus
    from embed.compare.curves.learning_curve import Sampled

RECORDS = "runs.json"
_ELSEWHERE = "move it or choose another `out`"


@dataclass(frozen=True)
class Recipe:
    """How a method is trained."""

    # ``(seed=seed) -> dataclass``, its options, the others as they are by default
    config: Callable[..., Any]
    # ``(corpus, options, out) -> Path``; goes on where it was interrupted
    train: Callable[["Corpus", Any, Path], Path]
    # whether another seed gives other vectors; if not, a sample is trained on once
    seeded: bool = True


@dataclass(frozen=True, eq=False)
class Point:
    """One method on one sample, with one seed."""

    method: str  # its name
    sampled: "Sampled"  # what it learns from
    seed: int  # of the training
    run: Path  # where it stands, or will


def lay_out(
    recipes: Mapping[str, Recipe], samples: Sequence["Sampled"], seeds: Sequence[int], out: Path
) -> list[Point]:
    """Name all runs of a curve."""
    points = []
    for sampled in samples:
        for method, recipe in recipes.items():
            run = out / f"{method}-{sampled.name}"
            if recipe.seeded and len(seeds) > 1:
                points += [
                    Point(method, sampled, seed, Path(f"{run}-seed{seed}")) for seed in seeds
                ]
            else:
                points.append(Point(method, sampled, seeds[0], run))
    return points


def refuse_others(points: Sequence[Point], recipes: Mapping[str, Recipe], out: Path) -> None:
    """Refuse a folder where anything else stands in the place of a run, before any work.

    A run is taken for one of the curve only if :func:`record_runs` told of it, with the same
    options and text, its own files agree, and every one of them is whole.
    """
    if (out / CHECKSUMS).exists() or (out.exists() and not out.is_dir()):
        raise ArtifactError(f"{out}: is no folder for the runs of a curve; choose another `out`")
    for path in (out / CURVE, out / RECORDS):
        if path.exists() and not path.is_file():
            raise ArtifactError(f"{path}: is no file, and a curve writes one there; {_ELSEWHERE}")
    records = _read_records(out)
    for point in points:
        look = _refuse_run if point.run.exists() else _refuse_left
        look(point, records.get(point.run.name), _record(point, recipes))


def record_runs(points: Sequence[Point], recipes: Mapping[str, Recipe], out: Path) -> None:
    """Write down what will be made, beside what earlier commands made: ``runs.json``."""
    out.mkdir(parents=True, exist_ok=True)
    records = _read_records(out) | {point.run.name: _record(point, recipes) for point in points}
    write_whole(out / RECORDS, lambda path: write_json(path, records))


def train_points(
    points: Sequence[Point], recipes: Mapping[str, Recipe]
) -> tuple[list[Point], list[str]]:
    """Train what is not there yet; a run that was interrupted goes on."""
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


def _record(point: Point, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """What makes a run, as ``runs.json`` holds it."""
    config = asdict(recipes[point.method].config(seed=point.seed))
    return {
        "method": point.method,
        "corpus": point.sampled.corpus.fingerprint,
        "config": json.loads(json.dumps(config)),
    }


def _read_records(out: Path) -> dict[str, Any]:
    """What earlier commands were to make, by the names of the runs."""
    path = out / RECORDS
    records = read_json(path) if path.exists() else {}
    if not isinstance(records, dict):
        raise ArtifactError(f"{path}: is damaged; choose another `out`")
    return records


def _refuse_run(point: Point, known: Any, wanted: Mapping[str, Any]) -> None:
    """Refuse what stands and is not what would be made now."""
    made = read_training(point.run)
    if known is None or made is None:
        raise ArtifactError(f"{point.run}: was not made by learning-curve; {_ELSEWHERE}")
    there = {"method": made.method, "corpus": made.corpus, "seed": made.seed, **made.options}
    if differ := _differences(known, there, wanted):
        raise ArtifactError(f"{point.run}: was made with another {differ}; {_ELSEWHERE}")
    verify(point.run)


def _refuse_left(point: Point, known: Any, wanted: Mapping[str, Any]) -> None:
    """Refuse what was left unfinished by another training, or is being made."""
    partial, left = artifact_paths(point.run)[1], unfinished_maker(point.run)
    if left is None and (partial / MAKER).exists():
        raise ArtifactError(f"{partial / MAKER}: cannot be read; move {partial} away")
    if left is not None:
        there = {**left, "method": str(left.get("command")).removeprefix("train-")}
        if known is None:
            raise ArtifactError(f"{partial}: was not begun by learning-curve; {_ELSEWHERE}")
        if differ := _differences(known, there, wanted):
            raise ArtifactError(f"{partial}: was begun with another {differ}; {_ELSEWHERE}")
    if partial.exists():  # whatever is kept to go on with, it has its maker's name
        check_can_start(point.run, left or {}, resume=None if left is None else MAKER)


def _differences(known: Any, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Names of what is not as it is wanted, in the record or in what stands there."""
    plain, recorded = _plain(wanted), _plain(known if isinstance(known, dict) else {})
    return ", ".join(
        name
        for name, value in {**dict.fromkeys(recorded), **plain}.items()
        if recorded.get(name) != value
        # what is None a method settles itself; what a run does not tell changes no vectors
        or (value is not None and there.get(name, value) != value)
    )


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record in one level."""
    config = record.get("config")
    return {
        "method": record.get("method"),
        "corpus": record.get("corpus"),
        **(config if isinstance(config, dict) else {}),
    }
