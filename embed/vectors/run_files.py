"""Open and validate the arrays of a run."""

from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import map_array
from firth.corpora.common.errors import ArtifactError


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


def not_finite(name: str, word: str) -> ArtifactError:
    """Return the error of vectors that hold NaN or infinity."""
    return ArtifactError(
        f"{name}: the vector of {word!r} holds NaN or infinity; train the run again"
    )
