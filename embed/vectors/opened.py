"""Vectors that are given, or where they are."""

import os
from typing import Any

from firth.embed.protocols import StaticVectors
from firth.embed.registry import LOAD_VECTORS, resolve

VectorSource = StaticVectors | str | os.PathLike[str]  # a run, or a file of vectors


def opened(vectors: Any, **options: Any) -> Any:
    """Return vectors as they are, or what ``load_vectors`` opens with options at a path."""
    # vectors of a run are like paths, too
    is_path = isinstance(vectors, str | os.PathLike) and not isinstance(vectors, StaticVectors)
    return resolve(LOAD_VECTORS)(vectors, **options) if is_path else vectors
