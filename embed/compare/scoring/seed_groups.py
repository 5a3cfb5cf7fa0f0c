"""Find the runs of a comparison that differ only in the seed."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

from firth.corpora.common.errors import ArtifactError
from firth.embed.contextual.encoders import ENCODER, encoder_run
from firth.embed.runs.run import Training, trained

T = TypeVar("T")


def seed_groups(runs: Mapping[str, Path]) -> dict[str, tuple[str, ...]]:
    """Group runs, or pooled ones by their encoders, that differ only in the seed."""
    seeds: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for name, path in runs.items():
        training = trained(path)
        if training is not None:
            options, seed = _without_encoder(path, training)
            key = json.dumps([training.method, training.corpus, options], sort_keys=True)
            if seed not in seeds[key] or name.endswith(f"-seed{seed}"):
                seeds[key][seed] = name
    groups: dict[str, tuple[str, ...]] = {}
    for members in seeds.values():
        if len(members) > 1:
            names = tuple(members.values())
            groups[_unused(_common_name(names), {*runs, *groups})] = names
    return groups


def first_of_seeds(runs: Mapping[str, T], groups: Mapping[str, Sequence[str]]) -> dict[str, T]:
    """Keep the first run of each group that differs only in the seed."""
    further = {run for members in groups.values() for run in members[1:]}
    return {run: vectors for run, vectors in runs.items() if run not in further}


def _without_encoder(run: Path, training: Training) -> tuple[dict[str, Any], int]:
    """Return options and seed; for a pooled run, those of its encoder's training if it is there."""
    known = training.options.get(ENCODER)
    try:
        encoder = encoder_run(run) if known is not None else None
    except ArtifactError:
        encoder = None
    source = trained(encoder) if encoder is not None else None
    if source is None:
        fingerprint = known.get("fingerprint", known) if isinstance(known, dict) else known
        return {**training.options, ENCODER: fingerprint}, training.seed
    pooled_from = [source.method, source.corpus, source.options]
    return {**training.options, ENCODER: pooled_from}, source.seed


def _common_name(names: Sequence[str]) -> str:
    """Return the common prefix of names and a star, which replaces whole numbers."""
    common = names[0]
    while not all(name.startswith(common) for name in names):
        common = common[:-1]
    if all(name[len(common) :][:1].isdigit() or name == common for name in names):
        common = common.rstrip("0123456789")
    return f"{common}*"


def _unused(name: str, used: Collection[str]) -> str:
    """Return the name, numbered if it is in use."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in used)
