"""Sets of several files: training, development and test parts; names of sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from corpora.common.errors import SettingError

Part = TypeVar("Part")

TRAIN, DEV, TEST = range(3)
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


def set_name(path: Path) -> str:
    """Return the name of a set: its file without endings, or its folder."""
    if path.is_dir():
        return path.resolve().name
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem
