"""The cache folder, whose contents can be recreated or downloaded again."""

import os
import shutil
from pathlib import Path

_MEANINGS = {
    "corpora": "corpora of texts that were passed in place of a corpus",
    "indexes": "of neighbors, of runs that cannot be written",
    "maps": "places of words by UMAP",
    "occurrences": "where words are, of corpora that cannot be written",
    "samples": "texts that were downloaded or generated",
    "scores": "measurements of runs on evaluation sets",
}


def cache_directory() -> Path:
    """Return the folder for downloads, intermediate corpora and lookup tables."""
    if chosen := os.environ.get("FIRTH_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "firth"


def cached() -> dict[str, tuple[int, str]]:
    """Return the bytes and the meaning of everything in the cache, by name."""
    folder = cache_directory()
    return {
        path.name: (_size(path), _MEANINGS.get(path.name, "tables and texts in work"))
        for path in sorted(folder.iterdir() if folder.is_dir() else ())
    }


def empty_cache(name: str) -> None:
    """Remove what the cache has under a name."""
    path = cache_directory() / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())
