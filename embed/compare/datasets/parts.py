"""Sets of several files: training, development and test parts; names of sets."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.compare.datasets.fields import quoted


class Labeled(Protocol):
    """Words or sentences with their labels."""

    @property
    def labels(self) -> Sequence[str]:
        """The label of each."""


Part = TypeVar("Part", bound=Labeled)

TRAIN, DEV, TEST = range(3)
# Names of parts and kinds of data, which many sets share.
_GENERIC = {"train", "training", "trial", "dev", "devel", "development", "valid", "validation"}
_GENERIC |= {"val", "test", "data", "gold", "labels", "all", "combined", "dataset"}
_MARKS = r"[._ -]"
_NUMBERED = re.compile(r" \([0-9]+\)$")  # which set of the same name
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
HELD_OUT = 10  # without DEV, one training sentence in so many is held out in its place


@dataclass(frozen=True)
class Parts(Generic[Part]):
    """The parts of a set of labeled words or sentences."""

    name: str  # of the test file, without its endings
    train: Part  # what probes are trained on
    test: Part  # what they are scored on
    dev: Part | None  # what hyperparameters are chosen on

    @property
    def given(self) -> list[Part]:
        """The parts given, in the order TRAIN, DEV, TEST."""
        return [part for part in (self.train, self.dev, self.test) if part is not None]


def split_names(files: str) -> list[str]:
    """Split file names at commas."""
    return [name.strip() for name in files.split(",")]


def part_paths(files: str) -> list[Path]:
    """Split the name of a set into two or three paths."""
    names = split_names(files)
    if len(names) not in (2, 3) or not all(names):
        raise SettingError(f"{files!r}: expected 2 or 3 files: TRAIN,TEST or TRAIN,DEV,TEST")
    return [Path(name) for name in names]


def refuse_disjoint(train_path: Path, train: Labeled, path: Path, part: Labeled) -> None:
    """Raise if a part shares no label with the training part."""
    if not set(train.labels) & set(part.labels):
        raise SourceError(
            f"{path}: shares no label with {train_path} (here {quoted(part.labels[0])}, there "
            f"{quoted(train.labels[0])}); pass parts of one set"
        )


def set_name(path: Path) -> str:
    """Return the name of a set: its folder, or its file without endings, in a folder if vague."""
    if path.is_dir():
        return path.resolve().name
    name = _stem(path)
    if not _is_generic(name):
        return name
    folders = [folder.name for folder in path.resolve().parents if folder.name]
    folder = next((each for each in folders if not _is_generic(each)), None)
    return name if folder is None else f"{folder}/{re.split(_MARKS, name)[0]}"


def bare_name(shown: str) -> str:
    """Return the name of a set without what depends on its folder or on the sets beside it.

    >>> [bare_name(name) for name in ("WiC/test", "a/rare", "rare (2)")]
    ['test', 'rare', 'rare']
    """
    return _NUMBERED.sub("", shown.rpartition("/")[2])


def names_only_its_part(path: Path) -> bool:
    """Return whether a file is named only for the part or kind of data that it holds."""
    return _is_generic(_stem(path))


def _stem(path: Path) -> str:
    """Return the name of a file without its endings."""
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem


def _is_generic(name: str) -> bool:
    """Return whether a name says only which part or kind of data a file holds."""
    return all(part in _GENERIC for part in re.split(_MARKS, name.lower()))
