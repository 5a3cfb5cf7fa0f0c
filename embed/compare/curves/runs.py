"""The runs of a learning curve: check existing ones, train the missing ones."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    MAKER,
    artifact_paths,
    unfinished_maker,
    verify,
)
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.corpora.common.options import take
from firth.corpora.common.reporting import note
from firth.embed.compare.curves.learning_curve import CurveConfig, NestedSample
from firth.embed.registry import find_method
from firth.embed.runs.run import trained
from firth.embed.runs.seeds import check_can_start

_ELSEWHERE = "move it or choose another `out`"


@dataclass(frozen=True, eq=False)
class Point:
    """One method on one sample, with one seed."""

    method: str
    sampled: NestedSample
    seed: int  # training seed
    run: Path  # folder of the run, which may not exist yet


def methods_of(config: CurveConfig) -> dict[str, range]:
    """Return the seeds of each method: one if vectors do not depend on it."""
    methods = {}
    for name in map(str.strip, config.methods.split(",")):
        n_seeds = config.seeds if find_method(name).seeded else 1
        methods[name] = range(config.seed, config.seed + n_seeds)
        for seed in (methods[name][0], methods[name][-1]):
            _defaults(name, seed)
    return methods


def lay_out(
    methods: Mapping[str, range], samples: Sequence[NestedSample], out: Path
) -> list[Point]:
    """Return all points of a curve, with the paths of their runs."""
    return [
        Point(method, sampled, seed, out / f"{method}-{sampled.name}{suffix}")
        for sampled in samples
        for method, seeds in methods.items()
        for seed in seeds
        for suffix in [f"-seed{seed}" if len(seeds) > 1 else ""]
    ]


def check_points(points: Sequence[Point], out: Path) -> None:
    """Raise ArtifactError if anything in ``out`` blocks a run, or was made otherwise."""
    if (out / CHECKSUMS).exists() or (out.exists() and not out.is_dir()):
        raise ArtifactError(f"{out}: not a folder for the runs of a curve; choose another `out`")
    for point in points:
        (_check_run if point.run.exists() else _check_unfinished)(point)


def train_points(points: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """Train the missing runs, resuming interrupted ones; return trained points and failures."""
    trained, failures = [], []
    for point in points:
        if point.run.exists():
            note(f"{point.run}: kept")
        else:
            corpus, train = point.sampled.corpus, find_method(point.method).train_function()
            note(
                f"{point.run}: training on {corpus.training_tokens:,} tokens of "
                f"{corpus.training_documents:,} documents"
            )
            try:
                train(corpus, _defaults(point.method, point.seed), point.run)
            except ArtifactError:
                raise
            except FirthError as error:
                failures.append(f"{point.run.name}: {error}")
                continue
        trained.append(point)
    return trained, failures


def _defaults(method: str, seed: int) -> Any:
    """Return the config of a method with this seed and defaults."""
    return take(find_method(method).config_class(), {"seed": seed})


def _check_run(point: Point) -> None:
    """Raise if an existing run is not the one that would be made now."""
    made = trained(point.run)
    if made is None:
        raise ArtifactError(f"{point.run}: not a run that was trained; {_ELSEWHERE}")
    settings = {"method": made.method, "corpus": made.corpus, "seed": made.seed, **made.options}
    if differ := _differences(settings, point):
        raise ArtifactError(f"{point.run}: was made with a different {differ}; {_ELSEWHERE}")
    verify(point.run)


def _check_unfinished(point: Point) -> None:
    """Raise if other settings left an unfinished run, or another process is training one."""
    partial, left = artifact_paths(point.run)[1], unfinished_maker(point.run)
    if left is not None:
        settings = {**left, "method": str(left.get("command")).removeprefix("train-")}
        if differ := _differences(settings, point):
            raise ArtifactError(f"{partial}: was started with a different {differ}; {_ELSEWHERE}")
    if partial.exists():  # a partial run records its maker
        check_can_start(point.run, left or {}, resume=None if left is None else MAKER)


def _differences(settings: Mapping[str, Any], point: Point) -> str:
    """Return the names of settings of a run that differ from those of its point."""
    options = json.loads(json.dumps(asdict(_defaults(point.method, point.seed))))
    wanted = {"method": point.method, "corpus": point.sampled.corpus.fingerprint, **options}
    return ", ".join(
        name
        for name, value in wanted.items()
        # None means that the method chooses; settings missing from a run change no vectors
        if value is not None and settings.get(name, value) != value
    )
