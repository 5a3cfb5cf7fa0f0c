"""The folder of a study: what it was asked, what was chosen, and what each run was made from."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.artifacts import CHECKSUMS, checksum, places, read_json, write_json
from corpora.console import note
from corpora.errors import ArtifactError, FirthError
from corpora.replacing import write_whole
from embed.study.settings import SETTINGS, Study, study_of, write_toml
from embed.study.steps import Step, run

RECORD = "study.json"
_REPLACES = "replaces"


@dataclass(frozen=True)
class Folder:
    """A folder with a record: ``asked``, ``corpus``, ``settled``, and ``steps`` by name.

    Attributes
    ----------
    path : Path
        Where.
    record : dict
        Written anew whenever it changes.
    """

    path: Path
    record: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """Open a folder, or make one.

        Parameters
        ----------
        path : Path
            Where.

        Returns
        -------
        Folder
            Perhaps of a study that was begun.

        Raises
        ------
        ArtifactError
            Something else is there, its record is damaged, or the disk refuses.
        """
        if (path / RECORD).exists():
            record = read_json(path / RECORD)
            if not isinstance(record, dict) or not isinstance(record.get("steps"), dict):
                raise ArtifactError(f"{path / RECORD}: is damaged; choose another --out")
            return cls(path, record)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ArtifactError(f"{path}: holds something that is no study; choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArtifactError(f"{path}: cannot be made: {error.strerror}") from error
        return cls(path, {"steps": {}})

    def begin(self, asked: Study, force: bool) -> None:
        """Write down what is asked, or refuse another study than that which was begun.

        Parameters
        ----------
        asked : Study
            As a person asks for it.
        force : bool
            Whether it may be another.

        Raises
        ------
        ArtifactError
            Names what differs.
        """
        known, wanted = self.record.get("asked"), asked.to_json()
        if self._is_of(wanted):
            return
        if isinstance(known, dict) and not force:
            names = known.keys() | wanted.keys()
            differ = sorted(name for name in names if known.get(name) != wanted.get(name))
            raise ArtifactError(
                f"{self.path}: holds a study with other {', '.join(differ)}; choose another --out, "
                "or pass --force to make anew what that changes"
            )
        self._write({"asked": wanted, "corpus": None, "settled": None})

    def settled(self, corpus: str) -> Study | None:
        """Give the choices that were made for the study that was begun.

        Parameters
        ----------
        corpus : str
            Fingerprint of the text.

        Returns
        -------
        Study or None
            None where none were made for it, and for just this text.

        Raises
        ------
        ArtifactError
            The record is damaged.
        """
        settled = self.record.get("settled")
        if settled is None or self.record.get("corpus") != corpus:
            return None
        try:
            return study_of(settled)
        except (FirthError, AttributeError, TypeError) as error:
            raise ArtifactError(f"{self.path / RECORD}: is damaged: {error}") from error

    def keep(self, settled: Study, corpus: str) -> None:
        """Write down what was chosen: in the record, and as settings to repeat the study by.

        Parameters
        ----------
        settled : Study
            Without a choice left open.
        corpus : str
            Fingerprint of the text.
        """
        self._write({"corpus": corpus, "settled": settled.to_json()})
        write_whole(self.path / SETTINGS, lambda path: write_toml(settled, path))

    def do(self, step: Step, corpus: str, force: bool) -> bool:
        """Run a step, unless what it makes stands already and was made by it.

        Parameters
        ----------
        step : Step
            Which makes an artifact in this folder.
        corpus : str
            Fingerprint of the text that it is made from.
        force : bool
            Replace what another step of the name made.

        Returns
        -------
        bool
            Whether it stands now.

        Raises
        ------
        ArtifactError
            Something else stands there.
        """
        assert step.out is not None
        out, partial, _ = places(step.out)
        wanted = {"arguments": list(step.arguments), "corpus": corpus}
        known = self.record["steps"].get(out.name)
        own = None if known is None else {name: known.get(name) for name in wanted}
        seal = checksum(out / CHECKSUMS) if (out / CHECKSUMS).is_file() else None
        if own == wanted and seal and seal != known.get(_REPLACES):
            note(f"{step.out}: kept")
            return True
        if known is None and (out.exists() or partial.exists()):
            raise ArtifactError(f"{step.out}: was not made by this study; move it away")
        if own not in (None, wanted):
            if not force:
                raise ArtifactError(
                    f"{step.out}: was made with other settings or from another text; choose "
                    "another --out, or pass --force"
                )
            if partial.exists():
                shutil.rmtree(partial)
        # before it starts, so that what is half done is known to be ours, and what stands, old
        self._write_step(out.name, {**wanted, _REPLACES: seal})
        status = run(step.typed(force=seal is not None))
        if status == 0:
            self._write_step(out.name, wanted)
        return status == 0

    def _is_of(self, wanted: dict[str, Any]) -> bool:
        """Whether a study, as it was asked for or with every choice made, was begun here."""
        return wanted in (self.record.get("asked"), self.record.get("settled"))

    def _write_step(self, name: str, entry: dict[str, Any]) -> None:
        """Put one step into the record."""
        self._write({"steps": {**self.record["steps"], name: entry}})

    def _write(self, entries: dict[str, Any]) -> None:
        """Put entries into the record."""
        self.record.update(entries)
        write_whole(self.path / RECORD, lambda path: write_json(path, self.record))
