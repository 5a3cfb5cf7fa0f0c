"""Helpers of the training functions: corpora from paths, runs with or without an output path."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # imports numba
    from corpora.store.corpus import Corpus


def corpus_of(corpus: "Corpus | str | Path") -> "Corpus":
    """Return a corpus as it is, or open or build the one at a path."""
    if not isinstance(corpus, str | Path):
        return corpus
    from corpora.build.open_or_build import open_or_build

    return open_or_build(corpus)


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
