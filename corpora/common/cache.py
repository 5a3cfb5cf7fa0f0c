"""The cache folder, whose contents can be recreated or downloaded again."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return the folder for downloads, intermediate corpora and lookup tables."""
    if chosen := os.environ.get("FIRTH_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "firth"
