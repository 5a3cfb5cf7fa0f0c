"""The vectors that a run is made from: how config.json names them, and whether they are numbers."""

from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import CHECKSUMS, fingerprint, read_json
from firth.embed.vectors.run_files import not_finite
from firth.embed.vectors.word_vectors import WordVectors


def describe_source(vectors: WordVectors) -> dict[str, Any]:
    """Return what names a space in config.json."""
    about: dict[str, Any] = {
        "path": str(vectors.path or vectors.name), "words": len(vectors), "dim": vectors.dim,
    }  # fmt: skip
    if vectors.path is not None and (vectors.path / CHECKSUMS).is_file():
        about["fingerprint"] = fingerprint(read_json(vectors.path / CHECKSUMS))
    return about


def refuse_not_finite(vectors: WordVectors) -> None:
    """Raise if a dense vector holds NaN or infinity."""
    sums = np.asarray(vectors.matrix).sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        raise not_finite(vectors.name, vectors.vocabulary[int(np.argmin(np.isfinite(sums)))])
