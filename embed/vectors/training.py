"""Helpers of the training functions: runs with or without an output path."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from embed.vectors.word_vectors import WordVectors


@contextlib.contextmanager
def run_folder(out: str | Path | None) -> Iterator[Path]:
    """Yield the path of a run: ``out``, or one in a temporary folder for the block."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        yield Path(folder) / "run"


def train_vectors(train: Callable[[Path], Path], out: str | Path | None, name: str) -> WordVectors:
    """Train a run and return its vectors: memory-mapped, or in memory without ``out``."""
    with run_folder(out) as run:
        vectors = WordVectors.open(train(run))
        return vectors.in_memory(name) if out is None else vectors
