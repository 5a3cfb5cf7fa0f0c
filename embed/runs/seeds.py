"""Runs that differ only in the seed: training them with ``--seeds``, and recognizing them."""

import contextlib
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from firth.corpora.artifacts.artifact import (
    new_artifact,
    refuse_existing,
    unfinished_maker,
    verify,
)
from firth.corpora.common.console import shell_quoted
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.options import take
from firth.embed.runs.run import FREE, INIT, trained

ConfigT = TypeVar("ConfigT")

KEPT = "kept, already trained with these settings"
_FEW = 3  # runs that the hint lists by name


@dataclass(frozen=True, kw_only=True)
class SeedRuns(Generic[ConfigT]):
    """The runs of a command: ``out``, or with ``seeds`` one ``out-seedS`` for each seed S."""

    command: str  # such as ``train-svd``
    config: ConfigT  # its ``seed`` is the first one
    out: Path
    seeds: int | None  # number of seeds
    force: bool  # retrain existing runs; otherwise those of the same training are kept
    resumes: bool = False  # whether a run without ``seeds`` is kept, too

    def configs(self) -> dict[Path, ConfigT]:
        """Return the config of each run."""
        if self.seeds is None:
            return {self.out: self.config}
        options = _options(self.config)
        seeds = range(options["seed"], options["seed"] + self.seeds)
        if self.out.name in ("", ".."):
            raise SettingError(f"`out={self.out}`: no name to append -seed{seeds[0]} to; pass one")
        return {
            Path(f"{self.out}-seed{seed}"): take(type(self.config), {**options, "seed": seed})
            for seed in seeds
        }

    def finished(
        self, corpus: str | None = None, chosen: Mapping[str, Any] | None = None
    ) -> frozenset[Path]:
        """Return the runs that are already trained; raise if another cannot be started.

        Without the fingerprint of the ``corpus``, options that depend on the text are not
        compared. ``chosen`` holds automatic values, accepted besides those of the config.
        """
        if self.seeds is None and not self.resumes:
            refuse_existing(self.out, self.force)
            return frozenset()
        found = set()
        for run, config in self.configs().items():
            wanted = self._expected_maker(config, corpus, chosen or {})
            if not self.force and _was_made_by(wanted, run):
                found.add(run)
                continue
            refuse_existing(run, self.force)
            if corpus is not None:
                self._check_can_start(run, wanted)
        return frozenset(found)

    def hint(self) -> str:
        """Return a shell command that compares the runs."""
        runs = list(self.configs())
        if len(runs) <= _FEW:
            named = " ".join(map(shell_quoted, runs))
        else:
            first, last = (run.name.rpartition("-seed")[2] for run in (runs[0], runs[-1]))
            named = f"{shell_quoted(f'{self.out}-seed')}{{{first}..{last}}}"
        return f"compare them: firth compare {named}"

    def _expected_maker(
        self, config: ConfigT, corpus: str | None, chosen: Mapping[str, Any]
    ) -> dict[str, tuple[Any, ...]]:
        """Return the accepted values of each entry of a run's maker."""
        options = _options(config)
        values = {
            name: (value, chosen.get(name, value))
            for name, value in options.items()
            # these depend on the text if they are not set
            if name not in FREE and not (corpus is None and (value is None or name == INIT))
        }
        known = {} if corpus is None else {"corpus": (corpus,)}
        return {"command": (self.command,), **known, **values, "seed": (options["seed"],)}

    def _check_can_start(self, run: Path, wanted: Mapping[str, tuple[Any, ...]]) -> None:
        """Raise now what training this run would raise later."""
        from firth.corpora.artifacts.checkpoint import CHECKPOINTS  # it imports numpy

        left = unfinished_maker(run)
        maker = dict(left or {})
        if not self.force and left is not None:
            differ = _differences(left, wanted)
            maker |= {name: wanted[name][-1] for name in differ}
        force = self.force and (left is None or run.exists())  # else it would clear unfinished work
        resume = CHECKPOINTS if left is not None else None
        check_can_start(run, maker, force=force, resume=resume)


def check_can_start(
    run: Path, maker: Mapping[str, Any], *, force: bool = False, resume: str | None = None
) -> None:
    """Start a run and abandon it, to raise now what training it would raise later."""
    with contextlib.suppress(_AbandonedError), new_artifact(run, maker, force=force, resume=resume):
        raise _AbandonedError


class _AbandonedError(Exception):
    """Ends a trial start."""


def _was_made_by(wanted: Mapping[str, tuple[Any, ...]], run: Path) -> bool:
    """Return whether the wanted training made this run; raise if one with other settings did."""
    found = trained(run)
    if found is None or f"train-{found.method}" not in wanted["command"]:
        return False
    made = {"command": f"train-{found.method}", "corpus": found.corpus, "seed": found.seed}
    differ = _differences({**found.options, **made}, wanted)
    if differ:
        raise ArtifactError(
            f"{run}: was trained with different {', '.join(differ)}; pass the same values "
            "to keep it, choose another `out` or pass `force=True`"
        )
    if "corpus" in wanted:  # else this is called again when the text is open
        verify(run)
    return True


def _differences(found: Mapping[str, Any], wanted: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """Return the sorted names of entries with unexpected values."""
    return sorted(name for name, values in wanted.items() if found.get(name) not in values)


def _options(config: Any) -> dict[str, Any]:
    """Return the options of a config as they are stored in JSON."""
    options: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return options
