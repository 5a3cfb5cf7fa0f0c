"""Where things are kept that can be made or fetched again."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """Name the folder of downloads, corpora built on the way, and tables."""
    if chosen := os.environ.get("FIRTH_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "firth"
