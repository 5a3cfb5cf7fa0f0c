"""Tasks that each write a folder, on threads or on the workers of a cluster.

A folder appears under its final name when it is complete, with a manifest. So a task can be
repeated, by two workers at once even, and work that was interrupted goes on with what is missing.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import fingerprint, read_json, sync_tree, write_json
from firth.corpora.common.errors import ArtifactError, FirthError

_MANIFEST = "task.json"


@dataclass(frozen=True)
class WorkerTask:
    """A call ``function(folder, *arguments)``, which fills a folder and returns a little JSON."""

    name: str  # in the dashboard of Dask, such as ``encode-00012``
    function: Callable[..., Any]  # of a module, so that workers find it
    arguments: tuple[Any, ...]  # paths and plain settings
    key: str = ""  # says what the contents of the folder depend on

    @property
    def folder(self) -> str:
        """Name of the folder: another for another key."""
        return f"{self.name}-{fingerprint(self.key)}"


class TaskFolder:
    """Runs the tasks of one artifact in a folder that all workers see."""

    def __init__(self, executor: Executor, path: Path) -> None:
        self.path = path
        self._executor = executor
        self.cpus: set[str] = set()  # of the workers

    def new_folder(self, name: str) -> Path:
        """Return a new path for files that a resumed run does not use."""
        return self.path / f"{name}-{os.urandom(4).hex()}"

    def path_of(self, task: WorkerTask) -> Path:
        """Return the folder that a task fills."""
        return self.path / task.folder

    def run(self, tasks: Sequence[WorkerTask]) -> Iterator[tuple[int, Any]]:
        """Yield number and result of each task as it ends; completed ones are not run again."""
        self.path.mkdir(parents=True, exist_ok=True)
        # what is missing is not opened: NFS would remember for a minute that it is missing
        complete = set(os.listdir(self.path))
        attempts: dict[Future[Any], int] = {}

        def result_of(record: dict[str, Any]) -> Any:
            self.cpus.add(record["cpu"])
            return record["result"]

        try:
            for number, task in enumerate(tasks):
                if task.folder in complete:
                    yield number, result_of(read_json(self.path_of(task) / _MANIFEST))
                else:
                    attempt = _Attempt(task.name, task, self.path)
                    attempts[self._executor.submit(attempt)] = number
            for future in as_completed(attempts):
                outcome = future.result()
                if isinstance(outcome, FirthError):
                    raise outcome
                yield attempts[future], result_of(outcome)
        finally:
            for future in attempts:
                future.cancel()

    def remove(self) -> None:
        """Remove the folders of all tasks."""
        # a task that ran twice may be removing its own folder at this moment
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True)
class _Attempt:
    """A task as it is sent to a worker."""

    name: str
    task: WorkerTask
    home: Path

    def __call__(self) -> dict[str, Any] | FirthError:
        """Run the task in a folder of its own, then rename that; return its manifest.

        Errors of the user are returned, not raised, or they would be tried again.
        """
        from firth.corpora.common.jit import cpu

        task, final = self.task, self.home / self.task.folder
        attempted = self.home / f"{task.folder}.{os.urandom(4).hex()}"
        try:
            attempted.mkdir()
        except FileNotFoundError:
            return ArtifactError(
                f"{self.home}: a worker does not see this folder; corpora and runs must be on a "
                "disk that all machines share, under the same path"
            )
        try:
            result = task.function(attempted, *task.arguments)
            record = {"cpu": cpu(), "result": result}
            write_json(attempted / _MANIFEST, record)
            sync_tree(attempted)
            try:
                attempted.rename(final)
            except OSError:
                if not final.exists():  # else a second worker was quicker with the same
                    raise
            return record
        except FirthError as error:
            return error
        finally:
            shutil.rmtree(attempted, ignore_errors=True)
