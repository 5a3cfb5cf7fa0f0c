"""Helpers of the training functions: runs with or without an output path."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.artifacts.artifact import refuse_existing
from corpora.common.reporting import note
from corpora.common.threads import thread_count
from embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # imports numba
    from corpora.store.corpus import Corpus


_ENOUGH_TOKENS = 100_000  # of which docs/tutorial.md measures scores hardly above chance


def warn_of_little_text(corpus: "Corpus") -> None:
    """Report that a text is too small to train vectors that mean something."""
    if corpus.training_tokens < _ENOUGH_TOKENS:
        note(
            f"{corpus.path}: too little text for useful vectors: {corpus.training_tokens:,} "
            f"training tokens; below about {_ENOUGH_TOKENS:,} scores are hardly better than chance"
        )


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


@contextlib.contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let torch compute with this many threads in the block, by default with all cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(thread_count(threads))
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
        opened = open_or_build(corpus)
        vectors = WordVectors.open(train(opened, run))
        warn_of_little_text(opened)
        return vectors.in_memory(name) if out is None else vectors
