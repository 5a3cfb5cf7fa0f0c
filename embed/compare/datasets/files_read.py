"""Which files are read where a set is named, so that none of them is written over."""

from collections.abc import Iterable
from pathlib import Path

from embed.compare.datasets.context_pairs import gold_files
from embed.compare.datasets.fields import TEXT_FILES
from embed.compare.datasets.parts import split_names
from embed.compare.datasets.sentence_pairs import PAIR_FILES

_OF_SEVERAL = ("contexts", "tagging", "sentences")  # tasks of which a set may be several files
# What is read of a folder, by the tasks whose sets may be one.
_OF_FOLDERS = {"analogy": TEXT_FILES, "odd-one-out": TEXT_FILES, "minimal-pairs": PAIR_FILES}


def parts_of(task: str, named: Path) -> list[Path]:
    """Cut what names a set into its files."""
    if task not in _OF_SEVERAL or (task == "contexts" and named.is_file()):
        return [named]
    return [Path(name) for name in split_names(str(named))]


def files_read(task: str, named: Path) -> list[Path]:
    """List what is read of a set."""
    parts = parts_of(task, named)
    if task in _OF_SEVERAL:
        parts = [part for part in parts if part != Path()]  # what nothing between commas names
    return [each for part in parts for each in (part, *_beside(task, part))]


def _beside(task: str, part: Path) -> Iterable[Path]:
    """What is read together with a file or folder."""
    if task == "contexts":
        return filter(Path.is_file, gold_files(part) if part.is_file() else ())
    return part.glob(_OF_FOLDERS[task]) if task in _OF_FOLDERS and part.is_dir() else []
