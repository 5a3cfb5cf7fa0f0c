"""The cache folder, whose contents can be recreated or downloaded again."""

import os
import shutil
from pathlib import Path

_MEANINGS = {  # by the start of a name, up to a hyphen
    "characters": "what the library of tokenizers does with each character",
    "corpora": "corpora of texts that were passed in place of a corpus",
    "indexes": "of neighbors, of runs that cannot be written",
    "maps": "places of words by UMAP",
    "occurrences": "where words are, of corpora that cannot be written",
    "samples": "texts that were downloaded or generated",
    "scores": "measurements of runs on evaluation sets",
    "text": "texts that were passed in memory, while they are read",
}


def cache_directory() -> Path:
    """Return the folder for downloads, intermediate corpora and lookup tables."""
    if chosen := os.environ.get("FIRTH_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "firth"


def cached() -> dict[str, tuple[int, str]]:
    """Return the bytes and the meaning of what the program has in the cache, by name."""
    folder = cache_directory()
    paths = sorted(folder.iterdir() if folder.is_dir() else ())
    return {
        path.name: (_size(path), _MEANINGS[stem])
        for path in paths
        if (stem := path.name.lstrip(".").partition("-")[0]) in _MEANINGS
    }


def empty_cache(name: str) -> None:
    """Remove what the cache has under a name."""
    path = cache_directory() / name
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())
