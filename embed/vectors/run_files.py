"""Open and validate the files of a run directory."""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array
from firth.corpora.artifacts.artifact import MAKER, artifact_paths, read_json
from firth.corpora.common.errors import ArtifactError

_UNFINISHED = "is unfinished; run its command again to complete it"


def require_run(run: Path) -> None:
    """Raise unless a path is a finished run."""
    if (run / MAKER).is_file():
        raise ArtifactError(f"{run}: {_UNFINISHED}")
    if run.is_dir():
        return
    if run.exists():
        raise ArtifactError(f"{run}: is a file; pass the directory of a run")
    begun = artifact_paths(run)[1].is_dir()
    problem = _UNFINISHED if begun else "no such run"
    raise ArtifactError(f"{run}: {problem}")


def run_options(run: Path) -> dict[str, Any]:
    """Read the options that a run was trained with."""
    config = run / "config.json"
    if not config.is_file():
        return {}
    options = read_json(config)
    if isinstance(options, dict) and isinstance(options.get("text"), dict | None):
        return options
    raise ArtifactError(f"{config}: not the configuration of a run; train the run again")


def open_array(
    path: Path, dtype: type[np.generic], dimensions: int, *, again: str = "train the run again"
) -> np.ndarray:
    """Memory-map one array of a run."""
    missing = f"no such file; is {path.parent} a finished run?"
    array = map_array(path, again=again, missing=missing)
    if array.ndim != dimensions or array.dtype != dtype:
        name = np.dtype(dtype).name
        kind = (
            f"{'an' if name[0] == 'i' else 'a'} {name} {'matrix' if dimensions == 2 else 'array'}"
        )
        raise ArtifactError(f"{path}: is {array.dtype} of shape {array.shape}, expected {kind}")
    return array
