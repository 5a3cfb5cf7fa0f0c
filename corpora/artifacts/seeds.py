"""Runs that differ in the seed alone: how ``--seeds`` makes them, and how they are recognized."""

import contextlib
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from corpora.artifacts.artifact import (
    MAKER,
    artifact_paths,
    new_artifact,
    read_json,
    refuse_existing,
    verify,
)
from corpora.common.console import typed
from corpora.common.errors import ArtifactError, SettingError
from corpora.common.options import take

ConfigT = TypeVar("ConfigT")

# Options that may differ between runs of one training: the seed, and what changes no result.
_FREE = frozenset({
    "seed", "threads", "memory", "device", "checkpoint_every", "keep_checkpoints", "evaluate_every",
})  # fmt: skip
_NO_OPTIONS = frozenset({"method", "corpus", "decided", "pooling"})  # of config.json
_MOST_SEEDS = 1_000
_FEW = 3  # runs that the hint names one by one
_INIT = "init"  # in config.json a path; in provenance.json the fingerprint of what stood there


@dataclass(frozen=True)
class Training:
    """What made the vectors of a finished run."""

    method: str  # as ``config.json`` names it: ``svd``, ``skipgram``, ``pool``
    corpus: str  # fingerprint of the text
    seed: int  # of this run
    # all else that shapes the vectors, as JSON. With another seed it would be the same
    options: dict[str, Any]


def read_training(run: Path) -> Training | None:
    """Read what made a run, so that runs of one training can be told from others."""
    try:
        config, made = read_json(run / "config.json"), read_json(run / "provenance.json")
    except ArtifactError:
        return None
    if not (isinstance(config, dict) and isinstance(made, dict)) or (run / MAKER).is_file():
        return None
    method, seed, corpus = config.get("method"), config.get("seed"), made.get("corpus")
    if not (isinstance(method, str) and isinstance(seed, int) and isinstance(corpus, str)):
        return None
    options = {name: config[name] for name in config.keys() - _FREE - _NO_OPTIONS}
    decided = config.get("decided")
    if isinstance(decided, dict):  # a GPU's batch is not a CPU's, where the option leaves it open
        options["batch"] = decided.get("batch")
    if isinstance(made.get(_INIT), str):
        options[_INIT] = made[_INIT]
    return Training(method, corpus, seed, options)


def seeds_option(command: Any) -> Any:
    """Add ``--seeds N`` to a training command."""
    import click

    return click.option(
        "--seeds",
        type=click.IntRange(min=1, max=_MOST_SEEDS),
        metavar="N",
        help="Train N runs that differ in the seed alone, from --seed on: OUT-seed1 to OUT-seedN.",
    )(command)


@dataclass(frozen=True, kw_only=True)
class SeedRuns(Generic[ConfigT]):
    """The runs of one command: ``out``, or with ``seeds`` a run ``out-seedS`` for each seed S."""

    command: str  # its name, such as ``train-svd``
    config: ConfigT  # every option, ``seed`` among them: the first one
    out: Path  # as the person gave it
    seeds: int | None  # how many seeds
    force: bool  # replace runs that stand there; without it those that this command made are kept
    # what :func:`corpora.artifacts.artifact.new_artifact` is given by the training
    resume: str | None = None

    def configs(self) -> dict[Path, ConfigT]:
        """Give every run its config."""
        if self.seeds is None:
            return {self.out: self.config}
        options = _options(self.config)
        seeds = range(options["seed"], options["seed"] + self.seeds)
        if self.out.name in ("", ".."):
            raise SettingError(
                f"`out={self.out}`: has no name to add -seed{seeds[0]} to; name the runs"
            )
        return {
            Path(f"{self.out}-seed{seed}"): take(type(self.config), {**options, "seed": seed})
            for seed in seeds
        }

    def finished(
        self, corpus: str | None = None, chosen: Mapping[str, Any] | None = None
    ) -> frozenset[Path]:
        """Find the runs that stand already, and refuse whatever stands in the way of the others."""
        if self.seeds is None:
            refuse_existing(self.out, self.force)
            return frozenset()
        wanted = {
            run: self._wanted(config, corpus, chosen or {})
            for run, config in self.configs().items()
        }
        found = [] if self.force else [run for run, maker in wanted.items() if _is_by(maker, run)]
        others = [run for run in wanted if run not in found]
        for run in others:
            refuse_existing(run, self.force)
        if corpus is not None:
            for run in others:
                self._rehearse(run, wanted[run])
        return frozenset(found)

    def kept_message(self, run: Path) -> str:
        """Say that a run is kept."""
        return f"{run}: kept, made before by the same training"

    def hint(self) -> str:
        """Say how the runs are compared, as can be pasted into a shell."""
        runs = list(self.configs())
        if len(runs) <= _FEW:
            named = " ".join(map(typed, runs))
        else:
            first, last = (run.name.rpartition("-seed")[2] for run in (runs[0], runs[-1]))
            named = f"{typed(f'{self.out}-seed')}{{{first}..{last}}}"
        return f"compare them: firth compare {named}"

    def _wanted(
        self, config: ConfigT, corpus: str | None, chosen: Mapping[str, Any]
    ) -> dict[str, tuple[Any, ...]]:
        """By name, which values the maker of a run may have had."""
        options = _options(config)
        values = {
            name: (value, chosen.get(name, value))
            for name, value in options.items()
            # before the text is opened nobody knows what the training makes of these
            if name not in _FREE and not (corpus is None and (value is None or name == _INIT))
        }
        known = {} if corpus is None else {"corpus": (corpus,)}
        return {"command": (self.command,), **known, **values, "seed": (options["seed"],)}

    def _rehearse(self, run: Path, wanted: Mapping[str, tuple[Any, ...]]) -> None:
        """Begin to make a run and leave it: what would be refused in its turn is refused now."""
        left = unfinished_maker(run)
        maker = dict(left or {})
        if not self.force and left is not None:
            differ = _differences(left, wanted)
            maker |= {name: wanted[name][-1] for name in differ}
        force = self.force and (left is None or run.exists())  # else it would clear what was left
        resume = self.resume if left is not None else None
        check_can_start(run, maker, force=force, resume=resume)


def check_can_start(
    run: Path, maker: Mapping[str, Any], *, force: bool = False, resume: str | None = None
) -> None:
    """Begin to make a run and leave it: what would be refused in its turn is refused now."""
    with contextlib.suppress(_RehearsalError), new_artifact(run, maker, force=force, resume=resume):
        raise _RehearsalError


class _RehearsalError(Exception):
    """Ends a rehearsal."""


def unfinished_maker(run: Path) -> dict[str, Any] | None:
    """Read who left a run unfinished."""
    try:
        maker = read_json(artifact_paths(run)[1] / MAKER)
    except ArtifactError:
        return None
    return maker if isinstance(maker, dict) else None


def _is_by(wanted: Mapping[str, tuple[Any, ...]], run: Path) -> bool:
    """Whether the wanted training made this run; refused if another training of its kind did."""
    found = read_training(run)
    if found is None or f"train-{found.method}" not in wanted["command"]:
        return False
    made = {"command": f"train-{found.method}", "corpus": found.corpus, "seed": found.seed}
    differ = _differences({**found.options, **made}, wanted)
    if differ:
        raise ArtifactError(
            f"{run}: was trained with another {', '.join(differ)}; give the same to keep it, "
            "choose another `out` or pass `force=True`"
        )
    if "corpus" in wanted:  # else it is asked again when the text is known
        verify(run)
    return True


def _differences(found: Mapping[str, Any], wanted: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """Names of what is not as it is wanted, sorted."""
    return sorted(name for name, values in wanted.items() if found.get(name) not in values)


def _options(config: Any) -> dict[str, Any]:
    """The options of a config as a run's files hold them."""
    options: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return options
