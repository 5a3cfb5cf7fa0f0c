"""Open the runs of a comparison, with their fingerprints and seed groups."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import CHECKSUMS, checksum, checksums, fingerprint, read_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note, progress
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.notes import chosen_defaults
from firth.embed.compare.scoring.results import Comparison
from firth.embed.compare.scoring.seed_groups import first_of_seeds, seed_groups
from firth.embed.compare.task import Task
from firth.embed.contextual.encoders import (
    CAUSAL,
    POOLED,
    causal_run,
    encoder_run,
    open_encoder,
    vectors_method,
)
from firth.embed.contextual.pooling import MASKING
from firth.embed.formats.huggingface import is_huggingface, model_checksums, model_type
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors
from firth.embed.registry import Chosen
from firth.embed.runs.run import Run
from firth.embed.vectors.change_table import CHANGE
from firth.embed.vectors.context_vectors import with_contexts
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.word_vectors import WordVectors

IN_MEMORY = "in memory"  # instead of the method of a run
# Runs, or a name for each; vectors are paths too, of the run they were opened from if there is one.
Runs = Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]]
_CHOSEN = "defaults_chosen"
_START = "start"
# of masked LMs: what the names of runs shown beside them end in, and their methods
_CONTROLS = {
    _START: "words of a masked LM without context",
    "untrained": "words of a masked LM before its training",
}
_SUMMED = " w+c"  # suffix of the names of runs whose context vectors were added


@dataclass(frozen=True, eq=False)
class Opened:
    """Opened runs, by the names they have in the comparison."""

    vectors: Mapping[str, StaticVectors]  # with the encoder of a run that has one
    # ``method`` and ``fingerprint`` of each, and ``defaults_chosen`` as in Chosen where it applies
    about: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, Sequence[str]]  # group name -> runs that differ only in the seed
    # cache names of the vectors; only of runs with checksums, which never change once written
    fingerprints: Mapping[str, str]
    paths: Mapping[str, Path]  # of runs that are not in memory, without starts and ``:causal``
    starts: frozenset[str] = frozenset()  # shown beside the runs that were named


def open_runs(runs: Runs, *, add_contexts: bool = False, starts: bool = False) -> Opened:
    """Open runs and, with ``starts``, words of masked LMs; raise ArtifactError for damage."""
    named = _named(runs)
    if not named:
        raise SettingError("no run to compare; pass at least one")
    causal = {
        name: path
        for name, run in named.items()
        if not isinstance(run, WordVectors) and (path := causal_run(run))
    }
    rest = {name: run for name, run in named.items() if name not in causal}
    plain = {name: Path(run) for name, run in rest.items() if not _in_memory(run)}
    paths = plain | causal
    about: dict[str, dict[str, Any]] = {}
    fingerprints = {}
    vectors: dict[str, WordVectors] = {}
    for name, run in named.items():
        if isinstance(run, WordVectors) and _in_memory(run):
            vectors[name], about[name] = run, {"method": IN_MEMORY, "fingerprint": None}
            continue
        path = paths[name]
        before = _kept_checksums(path)
        vectors[name] = load_vectors(path, verified=True)
        about[name] = describe_run(path) | _describe_training(Run.open(path))
        if name in causal:
            about[name]["fingerprint"] += CAUSAL
        if _kept_checksums(path) != before:
            raise ArtifactError(f"{path}: was replaced while it was read; compare again")
        if isinstance(run, WordVectors) and not np.array_equal(run.matrix, vectors[name].matrix):
            raise ArtifactError(f"{path}: was replaced after these vectors were opened; reopen it")
        if before is not None:
            fingerprints[name] = about[name]["fingerprint"]
    if add_contexts:
        return _with_contexts(vectors, Opened({}, about, seed_groups(plain), fingerprints, plain))
    groups = seed_groups(plain)
    contextual = {
        name: _with_encoder(paths.get(name), run, causal=name in causal)
        for name, run in vectors.items()
    }
    named = first_of_seeds({name: vectors[name] for name in rest}, groups) if starts else {}
    controls = set()
    for (name, run), (suffix, method) in product(named.items(), _CONTROLS.items()):
        control, words = f"{name} {suffix}", getattr(run, suffix)
        if control in vectors or words is None:
            continue
        contextual[control] = words
        controls.add(control)
        about[control] = {**about[name], "method": method}
        if suffix == _START:  # chosen defaults are those of the pooling, which it does without
            about[control].pop(_CHOSEN, None)
        if name in fingerprints:
            fingerprints[control] = f"{fingerprints[name]} {suffix}"
    return Opened(
        contextual, about, groups, _with_layers(fingerprints, contextual), plain,
        frozenset(controls),
    )  # fmt: skip


def distinct_runs(opened: Opened) -> Opened:
    """Leave out runs that have the same vectors as an earlier one, with a note."""
    distinct: list[str] = []
    for name in opened.vectors:
        same = (other for other in distinct if _same_vectors(opened, name, other))
        if (other := next(same, None)) is None:
            distinct.append(name)
        else:
            note(f"{name}: has the same vectors as {other}, compared once")
    groups = {
        group: tuple(run for run in runs if run in distinct)
        for group, runs in opened.groups.items()
    }
    return replace(
        opened,
        vectors={name: opened.vectors[name] for name in distinct},
        about={name: opened.about[name] for name in distinct},
        groups={group: runs for group, runs in groups.items() if len(runs) > 1},
        fingerprints={n: each for n, each in opened.fingerprints.items() if n in distinct},
        paths={name: path for name, path in opened.paths.items() if name in distinct},
    )


def _same_vectors(opened: Opened, *names: str) -> bool:
    """Return whether two runs are copies, or give every word of any text the same bytes."""
    a, b = (opened.vectors[name] for name in names)
    if not (isinstance(a, WordVectors) and isinstance(b, WordVectors)):  # has an encoder
        first, second = (opened.about[name]["fingerprint"] for name in names)
        return type(a) is type(b) and first == second
    has_changes = any((opened.paths[n] / CHANGE).exists() for n in names if n in opened.paths)
    if has_changes or any((a.subwords, b.subwords, a.pieces, b.pieces)):
        first, second = (opened.fingerprints.get(name) for name in names)
        return first is not None and first == second
    return (
        is_dense(a.matrix)
        and is_dense(b.matrix)
        and a.matrix.shape == b.matrix.shape
        and a.text == b.text
        and np.array_equal(a.matrix[:1], b.matrix[:1])  # tells most runs apart
        and list(a.vocabulary) == list(b.vocabulary)
        and np.array_equal(a.matrix, b.matrix)
    )


def compare_opened(opened: Opened, tasks: Sequence[Task], config: CompareConfig) -> Comparison:
    """Compare opened runs with a progress display."""
    chosen = {
        name: Chosen(**facts[_CHOSEN]) for name, facts in opened.about.items() if _CHOSEN in facts
    }
    with progress("comparing", "scores") as show:
        return compare_vectors(
            opened.vectors,
            tasks,
            config,
            show,
            groups=opened.groups,
            fingerprints=opened.fingerprints,
            chosen=chosen,
            starts=opened.starts,
        )


def describe_run(path: Path) -> dict[str, str]:
    """Return the method and the fingerprint of a run or vectors file."""
    if not path.is_dir():
        return {"method": "vectors file", "fingerprint": checksum(path)[:16]}
    if is_huggingface(path):
        return {"method": model_type(path), "fingerprint": fingerprint(model_checksums(path))}
    kept = _kept_checksums(path)
    method = vectors_method(Run.open(path)) or "vectors folder"
    return {"method": method, "fingerprint": fingerprint(kept or checksums(path))}


def _describe_training(run: Run) -> dict[str, Any]:
    """Return how the settings were chosen, if on sets, and on which text the run was trained."""
    chosen, text = chosen_defaults(run), run.provenance.get("text")
    about = {} if chosen is None else {_CHOSEN: asdict(chosen)}
    return about | ({"text": text} if isinstance(text, dict) else {})


def _with_encoder(
    path: Path | None, vectors: WordVectors, *, causal: bool = False
) -> StaticVectors:
    """Return the vectors with the encoder they were pooled from, if it exists."""
    if path is None:
        return vectors
    try:
        run = encoder_run(path)
    except ArtifactError as error:
        if path.is_dir() and Run.open(path).method == POOLED:
            note(f"{error}; scored by its static vectors")
        return vectors
    pooling = Run.open(path).entries("pooling")
    layers = tuple(pooling.get("layers") or ()) or None
    masked = pooling.get("source") in MASKING
    return WithEncoder(
        vectors,
        partial(open_encoder, run.with_name(run.name + CAUSAL) if causal else run),
        layers=None if masked else layers,
        masked_layers=layers if masked else None,
    )


def _kept_checksums(path: Path) -> Any:
    """Return the stored checksums of a run's files; None if it has none."""
    return read_json(path / CHECKSUMS) if (path / CHECKSUMS).is_file() else None


def _named(runs: Runs) -> dict[str, Path | WordVectors]:
    """Return the path or vectors of each distinct run by its name in the comparison."""
    pairs = runs.items() if isinstance(runs, Mapping) else [(_name(run), run) for run in runs]
    named: dict[str, Path | WordVectors] = {}
    given: set[Path | WordVectors] = set()
    for name, run in pairs:
        found = run if isinstance(run, WordVectors) else Path(run)
        target = found if _in_memory(found) else Path(found).resolve()
        if target in given:
            note(f"{name}: given twice, compared once")
            continue
        given.add(target)
        name = f"./{name}" if name in BASELINES else name
        if name in named:
            raise SettingError(f"two runs are named {name!r}; pass a mapping of names to runs")
        named[name] = found
    return named


def _in_memory(run: Path | WordVectors) -> bool:
    """Return whether these are vectors that no run on disk holds."""
    return isinstance(run, WordVectors) and run.path is None


def _name(run: str | os.PathLike[str]) -> str:
    """Return a path as it is given, and the name of opened vectors or an encoder."""
    is_path = isinstance(run, str | PurePath)
    return os.fspath(run) if is_path else getattr(run, "name", None) or os.fspath(run)


def _with_contexts(runs: Mapping[str, WordVectors], opened: Opened) -> Opened:
    """Add context vectors to the runs that have them, under names that end in ``w+c``."""
    # with_contexts raises for the first run if none has context vectors
    summed = {name for name, run in runs.items() if run.contexts is not None} or set(runs)
    new = {name: f"{name}{_SUMMED}" if name in summed else name for name in runs}
    vectors: dict[str, StaticVectors] = {}
    for name, run in runs.items():
        if name not in summed:
            note(f"{name}: has no context vectors, compared as it is")
        vectors[new[name]] = (
            with_contexts(run) if name in summed else _with_encoder(opened.paths.get(name), run)
        )
    about = {new[name]: facts for name, facts in opened.about.items()}
    groups = {
        f"{group}{_SUMMED}" if runs[0] in summed else group: tuple(new[run] for run in runs)
        for group, runs in opened.groups.items()
    }
    fingerprints = {
        new[name]: f"{content} with contexts" if name in summed else content
        for name, content in opened.fingerprints.items()
    }
    paths = {new[name]: path for name, path in opened.paths.items()}
    return Opened(vectors, about, groups, _with_layers(fingerprints, vectors), paths)


def _with_layers(
    fingerprints: Mapping[str, str], vectors: Mapping[str, StaticVectors]
) -> dict[str, str]:
    """Add the layers of an encoder to the cache name of its run: measurements depend on them."""
    named = dict(fingerprints)
    for name in named:
        run = vectors[name]
        if isinstance(run, WithEncoder):
            named[name] += f" in context by layers {run.layers}"
    return named
