"""The cache folder, whose contents can be recreated or downloaded again."""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from firth.corpora.common.errors import SettingError

KINDS = {
    "characters": "what the library of tokenizers does with each character",
    "checked": "marks of files whose numbers were checked",
    "corpora": "corpora of texts that were passed in place of a corpus",
    "draws": "texts by word and document, of runs whose neighbors were asked for with intervals",
    "indexes": "of neighbors, of runs that cannot be written",
    "maps": "places of words by UMAP",
    "occurrences": "where words are, of corpora that cannot be written",
    "samples": "texts that were downloaded or generated",
    "scores": "measurements of runs on evaluation sets",
    "text": "texts that were passed in memory, while they are read",
}
_LARGE = 1 << 26  # bytes of files from which a mark saves more time than it takes
_SETTLED = 2_000_000_000  # nanoseconds after which another change has another time


def cache_directory() -> Path:
    """Return the folder of the cache."""
    if chosen := os.environ.get("FIRTH_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "firth"
    try:
        return Path.home() / ".cache" / "firth"
    except RuntimeError:  # a user without a home, as in containers
        raise SettingError("no home folder; set FIRTH_CACHE to a folder for the cache") from None


def other_place(out: Path, name: str = "`out`") -> str:
    """Return what to do about a path that cannot be written, which was passed under a name."""
    if out.is_relative_to(cache_directory()):
        return "set XDG_CACHE_HOME or FIRTH_CACHE to a folder that can be written"
    return f"choose another {name}"


def cache_folder(kind: str) -> Path:
    """Return the folder of a kind of content, which may not exist yet."""
    assert kind in KINDS, kind  # or `firth caches` would not show it
    return cache_directory() / kind


def check_once(files: Iterable[Path], check: Callable[[], None]) -> None:
    """Check files, unless they are large and passed the same check as they are now."""
    states = [file.stat() for file in files if file.exists()]
    changed = max((each.st_ctime_ns for each in states), default=0)
    stamp = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in states]
    mark = cache_folder("checked") / hashlib.sha256(repr(stamp).encode()).hexdigest()[:32]
    if mark.exists():
        return
    check()
    is_large = sum(each.st_size for each in states) >= _LARGE
    if is_large and time.time_ns() - changed > _SETTLED:
        with contextlib.suppress(OSError):  # the cache only saves time
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_bytes(b"\n")


def cached() -> dict[str, tuple[int, str]]:
    """Return the bytes and the meaning of each kind of content that the cache has."""
    sizes = {
        kind: sum(file.stat().st_size for file in cache_folder(kind).rglob("*") if file.is_file())
        for kind in KINDS
    }
    return {kind: (size, KINDS[kind]) for kind, size in sizes.items() if size}


def empty_cache(kind: str) -> None:
    """Remove all content of a kind."""
    shutil.rmtree(cache_folder(kind))
