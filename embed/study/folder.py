"""The folder of a study and its record: the request, the choices, and the inputs of each run."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    artifact_paths,
    checksum,
    read_json,
    verify,
    write_json,
)
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.artifacts.lock import locked
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.embed.study.settings import COMPARE, SETTINGS, Study, study_from_json, write_toml

RECORD = "study.json"
_LOCK = ".lock"
_REPLACES = "replaces"


@dataclass(frozen=True)
class StudyFolder:
    """A locked study folder with its record, ``study.json``.

    Keys of the record: ``asked``, the study as requested; ``steps`` by name; and after the choices
    ``corpus``, its fingerprint, ``settled``, the study with all choices, and ``settled_for``, the
    request they were made for.
    """

    path: Path
    record: dict[str, Any]  # rewritten whenever it changes

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path) -> Iterator["StudyFolder"]:
        """Open or create a folder and lock it against other studies."""
        _refuse_foreign(path)
        busy = f"{path}: in use by another study; wait for it or choose another `out`"
        with contextlib.ExitStack() as stack:
            try:
                path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(path / _LOCK, ArtifactError(busy)))
            except OSError as error:
                raise ArtifactError(f"{path}: cannot be created: {error.strerror}") from error
            yield cls(path, _read_record(path))

    def begin(self, requested: Study, force: bool) -> None:
        """Record the requested study; raise if the folder has a different one."""
        known, wanted = self.record.get("asked"), requested.to_json()
        settled = self.record.get("settled")
        if wanted in (known, settled):
            return
        only_words = any(_differences(each, wanted) == ["words"] for each in (known, settled))
        if isinstance(known, dict) and not force and not only_words:
            differ = _differences(known, wanted)
            raise ArtifactError(
                f"{self.path}: contains a study with other {', '.join(differ)}; choose another "
                "`out`, or pass `force=True` to redo what depends on them"
            )
        self._write({"asked": wanted})

    def reuse_choices(self, requested: Study, corpus: str) -> Study:
        """Return the study with earlier choices whose inputs have not changed.

        ``corpus`` is the fingerprint of the corpus. Evaluation sets are chosen anew, since some may
        not have been there.
        """
        previous_json = self.record.get("settled_for")
        if previous_json is None or self.record.get("corpus") != corpus:
            return requested
        try:
            previous = study_from_json(previous_json)
            complete = study_from_json(self.record["settled"])
        except (FirthError, KeyError, AttributeError, TypeError) as error:
            raise ArtifactError(f"{self.path / RECORD}: damaged: {error}") from error
        options = dict(requested.options)
        for command, chosen in complete.options.items():
            same = requested.options.get(command, {}) == previous.options.get(command, {})
            if same and command != COMPARE and requested.budget == previous.budget:
                options[command] = chosen
        return replace(requested, options=options)

    def save_choices(self, requested: Study, complete: Study, corpus: str) -> None:
        """Save all choices in the record and as a settings file that repeats the study."""
        choices = {"settled_for": requested.to_json(), "settled": complete.to_json()}
        self._write({"corpus": corpus, **choices})
        write_whole(self.path / SETTINGS, lambda path: write_toml(complete, path))

    def is_current(self, out: Path, wanted: Mapping[str, Any], force: bool) -> bool:
        """Return whether a run was made as ``wanted``; raise if another one needs ``force``."""
        recorded = self.record["steps"].get(out.name)
        run, partial, _ = artifact_paths(out)
        if recorded is None:
            if run.exists() or partial.exists():
                raise ArtifactError(f"{out}: not made by this study; move it away")
            return False
        if any(recorded.get(name) != value for name, value in wanted.items()):
            if not force:
                raise ArtifactError(
                    f"{out}: was made with other settings or from another text; choose another "
                    "`out`, or pass `force=True`"
                )
            return False
        seal = _seal(run)
        return bool(seal and seal != recorded.get(_REPLACES) and _is_intact(run, force))

    def start_step(self, out: Path, wanted: Mapping[str, Any]) -> bool:
        """Record a step before it starts; return whether it overwrites what another one made.

        If it is killed, partial output is its own, and the old output, identified by its seal, is
        outdated.
        """
        recorded, seal = self.record["steps"].get(out.name), _seal(artifact_paths(out)[0])
        self.write_step(out.name, {**wanted, _REPLACES: seal})
        if recorded is None:
            return False
        changed = any(recorded.get(name) != value for name, value in wanted.items())
        return changed or seal is not None

    def write_step(self, name: str, entry: Mapping[str, Any]) -> None:
        """Set the entry of one step, which is complete if it is as wanted; write the record."""
        self._write({"steps": {**self.record["steps"], name: entry}})

    def _write(self, entries: dict[str, Any]) -> None:
        """Update the record and write it."""
        self.record.update(entries)
        write_whole(self.path / RECORD, lambda path: write_json(path, self.record))


def _differences(known: Any, wanted: Mapping[str, Any]) -> list[str]:
    """Return the settings in which a recorded study differs from another."""
    known = known if isinstance(known, Mapping) else {}
    return sorted(
        name for name in known.keys() | wanted.keys() if known.get(name) != wanted.get(name)
    )


def _refuse_foreign(path: Path) -> None:
    """Raise if a path exists that is neither a study nor the start of one."""
    if not path.exists() or (path / RECORD).exists():
        return
    if not path.is_dir() or {each.name for each in path.iterdir()} - {_LOCK, f"{RECORD}.new"}:
        raise ArtifactError(f"{path}: not a study folder; choose another `out`")


def _read_record(path: Path) -> dict[str, Any]:
    """Return the record; empty for a new folder."""
    if not (path / RECORD).exists():
        return {"steps": {}}
    record = read_json(path / RECORD)
    steps = record.get("steps") if isinstance(record, dict) else None
    if not isinstance(steps, dict) or not all(isinstance(each, dict) for each in steps.values()):
        raise ArtifactError(f"{path / RECORD}: damaged; choose another `out`")
    return dict(record)


def _seal(run: Path) -> str | None:
    """Return the checksum of a run's checksums; None if there is no run."""
    return checksum(run / CHECKSUMS) if (run / CHECKSUMS).is_file() else None


def _is_intact(out: Path, force: bool) -> bool:
    """Return whether an artifact matches its checksums; raise if not, unless ``force``."""
    try:
        verify(out)
    except ArtifactError as error:
        if force:
            return False
        raise ArtifactError(f"{error}, or pass `force=True`") from error
    return True
