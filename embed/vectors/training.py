"""Helpers of the training functions: runs with or without an output path."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.artifacts.artifact import refuse_existing
from embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # imports numba
    from corpora.store.corpus import Corpus


@contextlib.contextmanager
def run_folder(out: str | Path | None, *, force: bool) -> Iterator[Path]:
    """Yield the path of a run: ``out``, or one in a temporary folder for the block.

    Raise if ``out`` exists, before the corpus is opened or built.
    """
    if out is not None:
        refuse_existing(Path(out), force)
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        yield Path(folder) / "run"


def train_vectors(
    train: Callable[["Corpus", Path], Path],
    corpus: "Corpus | str | Path",
    out: str | Path | None,
    name: str,
    *,
    force: bool,
) -> WordVectors:
    """Train a run and return its vectors: memory-mapped, or in memory without ``out``."""
    from corpora.build.open_or_build import open_or_build  # lazy: imports numba

    with run_folder(out, force=force) as run:
        vectors = WordVectors.open(train(open_or_build(corpus), run))
        return vectors.in_memory(name) if out is None else vectors
