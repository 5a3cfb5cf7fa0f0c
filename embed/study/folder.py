"""The folder of a study: what it was asked, what was chosen, and what each run was made from."""

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora.artifacts.artifact import (
    CHECKSUMS,
    artifact_paths,
    checksum,
    read_json,
    verify,
    write_json,
)
from corpora.artifacts.atomic import write_whole
from corpora.common.errors import ArtifactError, FirthError
from corpora.common.reporting import note
from embed.study.settings import SETTINGS, Study, study_of, write_toml
from embed.study.steps import Step, run

RECORD = "study.json"
_LOCK = ".lock"
_REPLACES = "replaces"


@dataclass(frozen=True)
class Folder:
    """A folder with a record: ``asked``, ``steps`` by name, and ``settled``, if it is, for what."""

    path: Path  # where
    record: dict[str, Any]  # written anew whenever it changes
    lock: int  # A file descriptor that keeps other studies away

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path) -> Iterator["Folder"]:
        """Open a folder, or make one, and keep other studies away from it."""
        _refuse_strange(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = open(path / _LOCK, "a")  # noqa: SIM115 - closed below
        except OSError as error:
            raise ArtifactError(f"{path}: cannot be made: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ArtifactError(
                    f"{path}: another study is at work here, or a step that outlived it; wait for "
                    "it or choose another `out`"
                ) from error
            yield cls(path, _read_record(path), lock.fileno())

    def begin(self, asked: Study, force: bool) -> None:
        """Write down what is asked, or refuse another study than that which was begun."""
        known, wanted = self.record.get("asked"), asked.to_json()
        if wanted in (known, self.record.get("settled")):
            return
        if isinstance(known, dict) and not force:
            names = known.keys() | wanted.keys()
            differ = sorted(name for name in names if known.get(name) != wanted.get(name))
            raise ArtifactError(
                f"{self.path}: holds a study with other {', '.join(differ)}; choose another `out`, "
                "or pass `force=True` to make anew what that changes"
            )
        self._write({"asked": wanted})

    def carried_over(self, asked: Study, corpus: str) -> Study:
        """Reuse the choices made before whose inputs have not changed."""
        made_for = self.record.get("settled_for")
        if made_for is None or self.record.get("corpus") != corpus:
            return asked
        try:
            before, settled = study_of(made_for), study_of(self.record["settled"])
        except (FirthError, KeyError, AttributeError, TypeError) as error:
            raise ArtifactError(f"{self.path / RECORD}: is damaged: {error}") from error
        if asked.to_json() == settled.to_json():
            return settled
        options = dict(asked.options)
        for command, chosen in settled.options.items():
            same = asked.options.get(command, {}) == before.options.get(command, {})
            if same and asked.budget == before.budget:
                options[command] = chosen
        return replace(asked, options=options)

    def keep(self, asked: Study, settled: Study, corpus: str) -> None:
        """Write down what was chosen: in the record, and as settings to repeat the study by."""
        made_for = {"settled_for": asked.to_json(), "settled": settled.to_json()}
        self._write({"corpus": corpus, **made_for})
        write_whole(self.path / SETTINGS, lambda path: write_toml(settled, path))

    def do(self, step: Step, corpus: str, force: bool) -> int:
        """Run a step, unless what it makes stands already and was made by it."""
        assert step.out is not None
        out, partial, _ = artifact_paths(step.out)
        name = step.out.name
        wanted = {"options": list(step.options), "corpus": corpus}
        known = self.record["steps"].get(name)
        own = None if known is None else {each: known.get(each) for each in wanted}
        seal = checksum(out / CHECKSUMS) if (out / CHECKSUMS).is_file() else None
        if known is None and (out.exists() or partial.exists()):
            raise ArtifactError(f"{step.out}: was not made by this study; move it away")
        if own == wanted and seal and seal != known.get(_REPLACES) and _is_whole(out, force):
            note(f"{step.out}: kept")
            return 0
        changed = own not in (None, wanted)
        if changed and not force:
            raise ArtifactError(
                f"{step.out}: was made with other settings or from another text; choose another "
                "`out`, or pass `force=True`"
            )
        # before it starts, so that what is half done is known to be ours, and what stands, old
        self._write_step(name, {**wanted, _REPLACES: seal})
        status = run(step.typed(force=changed or seal is not None), self.lock)
        if status == 0:
            self._write_step(name, wanted)
        return status

    def _write_step(self, name: str, entry: dict[str, Any]) -> None:
        """Put one step into the record."""
        self._write({"steps": {**self.record["steps"], name: entry}})

    def _write(self, entries: dict[str, Any]) -> None:
        """Put entries into the record."""
        self.record.update(entries)
        write_whole(self.path / RECORD, lambda path: write_json(path, self.record))


def _refuse_strange(path: Path) -> None:
    """Refuse a place that holds something else than a study, or what is left of its beginning."""
    if not path.exists() or (path / RECORD).exists():
        return
    if not path.is_dir() or {each.name for each in path.iterdir()} - {_LOCK, f"{RECORD}.new"}:
        raise ArtifactError(f"{path}: not a study folder; choose another `out`")


def _read_record(path: Path) -> dict[str, Any]:
    """The record, empty at first."""
    if not (path / RECORD).exists():
        return {"steps": {}}
    record = read_json(path / RECORD)
    steps = record.get("steps") if isinstance(record, dict) else None
    if not isinstance(steps, dict) or not all(isinstance(each, dict) for each in steps.values()):
        raise ArtifactError(f"{path / RECORD}: is damaged; choose another `out`")
    return dict(record)


def _is_whole(out: Path, force: bool) -> bool:
    """Whether an artifact's files are as they were made; refuses what is not, unless forced."""
    try:
        verify(out)
    except ArtifactError as error:
        if force:
            return False
        raise ArtifactError(f"{error}: pass `force=True`") from error
    return True
