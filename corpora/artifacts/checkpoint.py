"""Training checkpoints that survive a kill or a full disk at any moment.

``checkpoints/step-3/`` holds each array as ``.npy``, ``state.json`` and ``checksums.json``.
It is written as ``step-3.partial``, synced and renamed; only then are older ones removed,
so at least one complete checkpoint always exists.
"""

import contextlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    checksums,
    read_json,
    sync_path,
    sync_tree,
    verify,
    write_json,
)
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note

CHECKPOINTS = "checkpoints"  # folder of a training's checkpoints
STATE = "state.json"
FORMAT = 1
_STEP = re.compile(r"step-(\d+)")
_PARTIAL = ".partial"


def save_checkpoint(
    directory: Path, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any], keep: int = 1
) -> None:
    """Write a checkpoint, then remove all but the last ``keep``.

    While writing, the disk holds one checkpoint more. At any moment, and after an error,
    :func:`load_checkpoint` returns either the old or the new one.
    """
    directory.mkdir(parents=True, exist_ok=True)
    sync_path(directory.parent)
    for left in directory.glob(f"*{_PARTIAL}"):  # by a process that was killed
        shutil.rmtree(left)
    old = _steps(directory)
    step = directory / f"step-{_number(old[0]) + 1 if old else 1}"
    partial = step.with_name(step.name + _PARTIAL)
    try:
        partial.mkdir()
        for name, array in arrays.items():
            save_array(partial / f"{name}.npy", array)
        write_json(
            partial / STATE, {"format": FORMAT, "arrays": list(arrays), "state": dict(state)}
        )
        write_json(partial / CHECKSUMS, checksums(partial))
        sync_tree(partial)
        partial.rename(step)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_path(directory)
    for path in old[keep - 1 :]:
        # renamed first, so that every one named step-N is complete
        shutil.rmtree(path.rename(path.with_name(path.name + _PARTIAL)))


def room_for_checkpoints(size: int, keep: int = 1) -> int:
    """Return the bytes on disk that a training's checkpoints take at most, each of ``size``."""
    return (keep + 1) * size


def load_checkpoint(directory: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """Read the newest undamaged checkpoint, noting damaged ones; None if there is none."""
    for step in _steps(directory):
        try:
            arrays, contents = _read(step)
            form, state = contents["format"], dict(contents["state"])
        except (ArtifactError, LookupError, TypeError, ValueError):
            note(f"{step}: damaged checkpoint skipped")
            continue
        if form != FORMAT:
            raise ArtifactError(
                f"{directory}: has format {form}, this version reads {FORMAT}; "
                "pass `force=True` to start over"
            )
        return arrays, state
    return None


def clear_checkpoints(directory: Path) -> None:
    """Remove all checkpoints after training: at once, in case we are killed."""
    aside = directory.with_name(f"{directory.name}.old")
    shutil.rmtree(aside, ignore_errors=True)  # of a call that was killed
    with contextlib.suppress(FileNotFoundError):
        directory.rename(aside)
        shutil.rmtree(aside)


def _read(step: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the contents of a checkpoint, and verify its checksums."""
    verify(step)
    contents = read_json(step / STATE)
    paths = {name: step / f"{name}.npy" for name in contents["arrays"]}
    listed = {path.name for path in paths.values()} | {STATE}
    if missing := sorted(listed - read_json(step / CHECKSUMS).keys()):
        raise ArtifactError(f"{step / missing[0]}: has no checksum")
    return {
        name: map_array(path, again="train again", missing="no such file")
        for name, path in paths.items()
    }, contents


def _steps(directory: Path) -> list[Path]:
    """Return the complete checkpoints, newest first."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if _STEP.fullmatch(path.name)]
    return sorted(found, key=_number, reverse=True)


def _number(step: Path) -> int:
    return int(step.name.removeprefix("step-"))
