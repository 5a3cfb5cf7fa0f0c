"""Sets of several files: what is learnt from, what decides how, what is asked; names of sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from corpora.common.errors import SettingError

Part = TypeVar("Part")

TRAIN, DEV, TEST = range(3)
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
HELD_OUT = 10  # one sentence of TRAIN in so many stands for a development part, where none is given


@dataclass(frozen=True)
class Parts(Generic[Part]):
    """The parts of a set of labeled words or sentences."""

    name: str  # of the test part's file, without its endings for compression and form
    train: Part  # what probes learn from, and what they are scored on
    test: Part  # what probes learn from, and what they are scored on
    dev: Part | None  # what decides how they learn

    @property
    def given(self) -> list[Part]:
        """The parts that there are: TRAIN, DEV, TEST."""
        return [part for part in (self.train, self.dev, self.test) if part is not None]


def split_names(files: str) -> list[str]:
    """Cut the names of files at commas."""
    return [name.strip() for name in files.split(",")]


def part_paths(files: str) -> list[Path]:
    """Name the files of a set."""
    names = split_names(files)
    if len(names) not in (2, 3) or not all(names):
        raise SettingError(
            f"{files!r} names no two or three files; pass TRAIN,TEST or TRAIN,DEV,TEST"
        )
    return [Path(name) for name in names]


def set_name(path: Path) -> str:
    """Name a set after its file or folder."""
    if path.is_dir():
        return path.resolve().name
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem
