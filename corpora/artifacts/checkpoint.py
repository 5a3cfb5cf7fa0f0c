"""Where a training stands, kept so that it can be taken up: the last checkpoint or the one before.

``checkpoints/step-3/`` holds each array as ``.npy``, ``state.json`` and
``checksums.json``. It is written as ``step-3.partial``, brought to the disk and
renamed, and only then are older ones removed, such as ``step-2``. So whoever is
killed, or finds the disk full, leaves one that is whole.
"""

import contextlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.arrays import map_array, save_array
from corpora.artifacts.artifact import (
    CHECKSUMS,
    checksums,
    read_json,
    sync_path,
    sync_tree,
    verify,
    write_json,
)
from corpora.common.console import note
from corpora.common.errors import ArtifactError

STATE = "state.json"
_STEP = re.compile(r"step-(\d+)")
_PARTIAL = ".partial"


def save_checkpoint(
    directory: Path, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any], keep: int = 1
) -> None:
    """Write a checkpoint, then remove those that came before the last ``keep``.

    The disk has room for one more while it is written. At any moment, and after an
    error, :func:`load_checkpoint` gives either the old or the new one.
    """
    # arrays: mapping of str to array, (n, ...)
    directory.mkdir(parents=True, exist_ok=True)
    sync_path(directory.parent)
    _remove_partials(directory)
    old = _steps(directory)
    step = directory / f"step-{_number(old[0]) + 1 if old else 1}"
    partial = step.with_name(step.name + _PARTIAL)
    try:
        partial.mkdir()
        for name, array in arrays.items():
            save_array(partial / f"{name}.npy", array)
        write_json(partial / STATE, {"format": 1, "arrays": list(arrays), "state": dict(state)})
        write_json(partial / CHECKSUMS, checksums(partial))
        sync_tree(partial)
        partial.rename(step)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_path(directory)
    for path in old[keep - 1 :]:
        _remove(path)


def load_checkpoint(directory: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """Read the newest checkpoint that is whole.

    One that is damaged is passed over, with a note. Nothing is written.
    """
    for step in _steps(directory):
        try:
            return _read(step)
        except ArtifactError:
            note(f"{step}: this checkpoint is damaged and is passed over")
    return None


def clear_checkpoints(directory: Path) -> None:
    """Remove all checkpoints, of a training that is finished."""
    for step in reversed(_steps(directory)):  # the newest last: we may be killed on the way
        _remove(step)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(directory)


def _read(step: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """One checkpoint, held against its checksums."""
    verify(step)
    head = read_json(step / STATE)
    paths = {name: step / f"{name}.npy" for name in head["arrays"]}
    listed = {path.name for path in paths.values()} | {STATE}
    if missing := sorted(listed - read_json(step / CHECKSUMS).keys()):
        raise ArtifactError(f"{step / missing[0]}: has no checksum")
    return {
        name: map_array(path, again="train again", missing="no such file")
        for name, path in paths.items()
    }, head["state"]


def _steps(directory: Path) -> list[Path]:
    """Finished checkpoints, the newest first."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if _STEP.fullmatch(path.name)]
    return sorted(found, key=_number, reverse=True)


def _number(step: Path) -> int:
    """Which checkpoint it is."""
    return int(step.name.removeprefix("step-"))


def _remove_partials(directory: Path) -> None:
    """Clear what was cut short."""
    for path in directory.iterdir():
        if path.name.endswith(_PARTIAL):
            shutil.rmtree(path)


def _remove(step: Path) -> None:
    """Remove a checkpoint; its name goes first, so that one that has the name is whole."""
    shutil.rmtree(step.rename(step.with_name(step.name + _PARTIAL)))
