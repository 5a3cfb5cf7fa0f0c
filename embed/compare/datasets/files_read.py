"""Which files a named evaluation set consists of, so that none of them is overwritten."""

from collections.abc import Iterable
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.context_pairs import gold_files
from firth.embed.compare.datasets.fields import TEXT_FILES
from firth.embed.compare.datasets.parts import split_names
from firth.embed.compare.datasets.sentence_pairs import PAIR_FILES

_MULTI_FILE = ("contexts", "tagging", "sentences")  # tasks whose sets may be several files
# Files read from a folder, for tasks whose sets may be folders.
_IN_FOLDERS = {"analogy": TEXT_FILES, "odd-one-out": TEXT_FILES, "minimal-pairs": PAIR_FILES}


def parts_of(task: str, named: Path) -> list[Path]:
    """Split the name of a set into its files."""
    if task == "contexts" and named.is_dir():
        return _parts_of_wic(named)
    if task not in _MULTI_FILE or (task == "contexts" and named.is_file()):
        return [named]
    return [Path(name) for name in split_names(str(named))]


def _parts_of_wic(folder: Path) -> list[Path]:
    """Return the development part, if any, and the test part of a folder as WiC's is published.

    The development part alone if the test part has no labels.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.data*")):
        first = found.setdefault(path.name.partition(".")[0], path)
        if first != path:
            raise SourceError(
                f"{folder}: contains {first.relative_to(folder)} and {path.relative_to(folder)}; "
                "pass the folder of one language, or files as DEV,TEST"
            )
    labeled = [
        found[part]
        for part in ("dev", "test")
        if part in found and any(map(Path.is_file, gold_files(found[part])))
    ]
    if not labeled:
        raise SourceError(
            f"{folder}: contains no dev.data.txt or test.data.txt with its gold.txt; pass a file"
        )
    return labeled


def files_read(task: str, named: Path) -> list[Path]:
    """Return all files and folders that are read for a set."""
    parts = parts_of(task, named)
    if task in _MULTI_FILE:
        parts = [part for part in parts if part != Path()]  # an empty name between commas
    return [each for part in parts for each in (part, *_read_with(task, part))]


def _read_with(task: str, part: Path) -> Iterable[Path]:
    """Return what is read together with a file, or from a folder."""
    if task == "contexts":
        return filter(Path.is_file, gold_files(part) if part.is_file() else ())
    return part.glob(_IN_FOLDERS[task]) if task in _IN_FOLDERS and part.is_dir() else []
