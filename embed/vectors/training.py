"""Helpers of the training functions: runs with or without an output path, threads of torch."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.common.errors import FirthError, needed_packages
from firth.corpora.common.reporting import note
from firth.corpora.common.system import temporary_folder
from firth.corpora.common.threads import thread_count
from firth.embed.vectors.word_vectors import WordVectors, some_words

if TYPE_CHECKING:  # imports numba
    from firth.corpora.store.corpus import Corpus, View

_ENOUGH = 20  # tokens per type; with 10, neighbors are hardly those by much text
_PARTS = 1 << 12  # of text that are looked at together


class NothingCountedError(FirthError):
    """A text is too short: no words occur together, or no more often than by chance."""


def nothing_together(
    name: object, n_words: int, boundary: str, *, what: str = "word", less: str = "`min_count`"
) -> NothingCountedError:
    """Return the error of a text of one word, or without contexts."""
    why = f"no two of the {n_words} {what}s occur in the same {boundary}"
    wider = "longer documents" if boundary == "document" else "a wider `boundary`"
    if n_words < 2:
        why, wider = f"only one {what} occurs", "more text"
    return NothingCountedError(f"{name}: {why}; pass {wider} or a smaller {less}")


def require_contexts(
    view: "View", name: object, *, keep: np.ndarray | None = None, subsample: float = 0,
    passes: int = 1,
) -> None:  # fmt: skip
    """Raise if no two words can be learned from; report the words that never have a context.

    ``keep`` has the probabilities, float64 (V,), that subsampling keeps an occurrence.
    """
    n_words, has_context = int(np.count_nonzero(view.counts)), np.zeros(len(view.counts), bool)
    pairs = 0.0  # that subsampling is expected to keep
    for rows, offsets in view.shards():
        for first in range(0, len(offsets) - 1, _PARTS):
            bounds = offsets[first : first + _PARTS + 1]
            part, lengths = rows[bounds[0] : bounds[-1]], np.diff(bounds)
            several = lengths > 1
            has_context[part if several.all() else part[np.repeat(several, lengths)]] = True
            if keep is not None and pairs < 1:
                kept, starts = keep[part], bounds[:-1] - bounds[0]
                squares = np.add.reduceat(kept, starts) ** 2 - np.add.reduceat(kept**2, starts)
                pairs += passes * float(squares.sum()) / 2
    if n_words < 2 or not has_context.any():
        raise nothing_together(name, n_words, view.boundary)
    if keep is not None and pairs < 1:
        raise NothingCountedError(
            f"`subsample={subsample:g}` leaves no two types of a {view.boundary} of {name} to "
            "learn from; pass a larger `subsample`"
        )
    alone = np.flatnonzero((view.counts > 0) & ~has_context)
    if len(alone):
        note(
            f"{name}: {len(alone):,} of {n_words:,} types are never in a {view.boundary} with "
            f"another, so nothing is learned of them: {some_words(view.words, alone)}"
        )


def warn_of_little_text(corpus: "Corpus", vectors: WordVectors) -> None:
    """Report that a text is too small to train vectors that mean something."""
    counts = vectors.counts
    if counts is not None and counts.mean() < _ENOUGH:
        note(
            f"{corpus.path}: too little text for useful vectors: {counts.mean():.1f} tokens of a "
            f"type on average; below about {_ENOUGH} scores are hardly better than chance"
        )


@contextlib.contextmanager
def run_folder(out: str | Path | None, *, force: bool) -> Iterator[Path]:
    """Yield the path of a run: a new ``out``, or one in a temporary folder for the block."""
    if out is not None:
        refuse_existing(Path(out), force)
        yield Path(out)
        return
    with temporary_folder() as folder:
        yield folder / "run"


_parallel: set[int] = set()  # processes whose OpenMP has threads, which a fork does not copy


@contextlib.contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let torch compute with this many threads in the block, by default with all cores."""
    with needed_packages():
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
    vectors = WordVectors.open(run)
    warn_of_little_text(corpus, vectors)
    return vectors.in_memory(method) if out is None else vectors
