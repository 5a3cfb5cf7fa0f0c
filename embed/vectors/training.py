"""Helpers of the training functions: runs with or without an output path, threads of torch."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.common.errors import FirthError
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # imports numba
    from firth.corpora.store.corpus import Corpus

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


_parallel: set[int] = set()  # processes whose OpenMP has threads, which a fork does not copy


@contextlib.contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let torch compute with this many threads in the block, by default with all cores."""
    import torch

    before, wanted = torch.get_num_threads(), thread_count(threads)
    if wanted > 1:
        if _parallel and os.getpid() not in _parallel:
            raise FirthError(
                "this process was forked from one that had computed in several threads, and would "
                "wait for them forever; pass threads=1, or start processes by the method 'spawn'"
            )
        _parallel.add(os.getpid())
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def open_trained(run: Path, corpus: "Corpus", method: str, out: str | Path | None) -> WordVectors:
    """Return the vectors of a new run: memory-mapped, or in memory without ``out``."""
    warn_of_little_text(corpus)
    vectors = WordVectors.open(run)
    return vectors.in_memory(method) if out is None else vectors
