"""Open what is to be compared, and find out what names it and what belongs together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from corpora.artifacts.artifact import CHECKSUMS, checksum, checksums, fingerprint, read_json
from corpora.common.console import note, progress
from corpora.common.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.inputs.encoder_access import WithEncoder
from embed.compare.scoring.comparison import compare
from embed.compare.scoring.results import Comparison
from embed.compare.scoring.seed_groups import seed_groups
from embed.compare.task import Task
from embed.contextual.encoders import POOLED, encoder_run, open_encoder
from embed.formats.huggingface import is_huggingface, model_checksums, model_type
from embed.formats.vector_files import load_vectors
from embed.protocols import StaticVectors
from embed.vectors.context_vectors import open_contexts, with_contexts
from embed.vectors.run_files import run_options
from embed.vectors.word_vectors import WordVectors

_SUMMED = " w+c"  # ends the names of runs whose context vectors were added


@dataclass(frozen=True, eq=False)
class Opened:
    """Runs, ready to be compared."""

    # by the name that the comparison gives each; with its encoder where a run has one
    vectors: Mapping[str, StaticVectors]
    about: Mapping[str, Mapping[str, str]]  # the ``method`` and ``fingerprint`` of each
    # those that differ in the seed only, by a name for all of them
    groups: Mapping[str, Sequence[str]]
    # what names the vectors of each, for those of which that is sure: runs, which are never
    # changed once they stand, with or without their contexts added
    fingerprints: Mapping[str, str]
    paths: Mapping[str, Path]  # where each lies


def open_runs(runs: Sequence[str], *, add_contexts: bool = False) -> Opened:
    """Open runs by their paths."""
    paths = _named(runs)
    about, fingerprints = {}, {}
    vectors: dict[str, WordVectors] = {}
    for name, path in paths.items():
        before = _kept_checksums(path)
        vectors[name] = load_vectors(path, verified=True)
        about[name] = describe_run(path)
        if _kept_checksums(path) != before:
            raise ArtifactError(f"{path}: was replaced while it was read; compare again")
        if before is not None:
            fingerprints[name] = about[name]["fingerprint"]
    if add_contexts:
        return _with_contexts(vectors, Opened({}, about, seed_groups(paths), fingerprints, paths))
    contextual = {name: _with_encoder(path, vectors[name]) for name, path in paths.items()}
    return Opened(
        contextual, about, seed_groups(paths), _named_apart(fingerprints, contextual), paths
    )


def compare_opened(opened: Opened, tasks: Sequence[Task], config: CompareConfig) -> Comparison:
    """Compare what was opened, and show how far that is."""
    with progress("comparing", "sets") as show:
        return compare(
            opened.vectors,
            tasks,
            config,
            show,
            groups=opened.groups,
            fingerprints=opened.fingerprints,
        )


def describe_run(path: Path) -> dict[str, str]:
    """Tell the method of a run, and what names its content."""
    if not path.is_dir():
        return {"method": "vectors file", "fingerprint": checksum(path)[:16]}
    if is_huggingface(path):
        return {"method": model_type(path), "fingerprint": fingerprint(model_checksums(path))}
    kept = _kept_checksums(path)
    method = str(run_options(path).get("method") or "vectors folder")
    return {"method": method, "fingerprint": fingerprint(kept or checksums(path))}


def _with_encoder(path: Path, vectors: WordVectors) -> StaticVectors:
    """The vectors with the encoder that they were pooled from, where it is there."""
    try:
        run = encoder_run(path)
    except ArtifactError as error:
        if path.is_dir() and run_options(path).get("method") == POOLED:
            note(f"{error}; scored by its static vectors")
        return vectors
    pooling = run_options(path).get("pooling")
    layers = pooling.get("layers") if isinstance(pooling, dict) else None
    return WithEncoder(vectors, partial(open_encoder, run), tuple(layers) if layers else None)


def _kept_checksums(path: Path) -> Any:
    """The checksums that a run keeps of its files; None where it keeps none."""
    return read_json(path / CHECKSUMS) if (path / CHECKSUMS).is_file() else None


def _named(runs: Sequence[str]) -> dict[str, Path]:
    """Each run once, by the name that it goes by."""
    paths: dict[str, Path] = {}
    places: set[Path] = set()
    for run in runs:
        place = Path(run).resolve()
        if place in places:
            note(f"{run}: given twice, compared once")
            continue
        places.add(place)
        paths[f"./{run}" if run in (ONE_HOT, RANDOM) else run] = Path(run)
    return paths


def _with_contexts(runs: Mapping[str, WordVectors], opened: Opened) -> Opened:
    """Runs with contexts under a name that says so, others as they are; some must have them."""
    with_some = {name for name, run in runs.items() if open_contexts(run) is not None}
    new = {name: name for name in runs}
    new |= {name: f"{name}{_SUMMED}" for name in (with_some or runs)}
    vectors: dict[str, StaticVectors] = {}
    for name, run in runs.items():
        if new[name] == name:
            note(f"{name}: has no context vectors, compared as it is")
            vectors[name] = _with_encoder(opened.paths[name], run)
        else:  # with none at all, the first is refused
            vectors[new[name]] = with_contexts(run)
    about = {new[name]: told for name, told in opened.about.items()}
    groups = {
        f"{group}{_SUMMED}" if runs[0] in with_some else group: tuple(new[run] for run in runs)
        for group, runs in opened.groups.items()
    }
    fingerprints = {
        new[name]: f"{content} with contexts" if name in with_some else content
        for name, content in opened.fingerprints.items()
    }
    paths = {new[name]: path for name, path in opened.paths.items()}
    return Opened(vectors, about, groups, _named_apart(fingerprints, vectors), paths)


def _named_apart(
    fingerprints: Mapping[str, str], vectors: Mapping[str, StaticVectors]
) -> dict[str, str]:
    """What names vectors, and whether an encoder answers for them: answers to sets depend on it."""
    named = dict(fingerprints)
    for name in named:
        run = vectors[name]
        if isinstance(run, WithEncoder):
            named[name] += f" in context by layers {run.layers}"
    return named
