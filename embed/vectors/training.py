"""Helpers of the training functions: runs with or without an output path, runs of networks."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.artifacts.checkpoint import CHECKPOINTS, clear_checkpoints
from firth.corpora.common.device import choose_device
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.embed.runs.writer import new_run
from firth.embed.vectors.word_vectors import MATRIX, WordVectors

if TYPE_CHECKING:  # imports numba
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus

_MAY_CHANGE = ("threads", "device", "memory")  # when a training is resumed
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
    corpus: "Corpus | TextSource",
    out: str | Path | None,
    name: str,
    *,
    force: bool,
) -> WordVectors:
    """Train a run and return its vectors: memory-mapped, or in memory without ``out``."""
    from firth.corpora.encoding.build import open_or_build  # lazy: imports numba

    with run_folder(out, force=force) as run:
        opened = open_or_build(corpus)
        vectors = WordVectors.open(train(opened, run))
        warn_of_little_text(opened)
        return vectors.in_memory(name) if out is None else vectors


def make_network_run(
    train: Callable[[Path, str], WordVectors],
    corpus: "Corpus",
    config: Any,
    out: Path,
    method: str,
    *,
    force: bool,
    resumable: bool,
) -> Path:
    """Train a network, or resume a training; write the run and return its path.

    ``train`` gets an unfinished run, with the checkpoints of an interrupted training, and a device.
    """
    options = dataclasses.asdict(config)
    fixed = {name: value for name, value in options.items() if name not in _MAY_CHANGE}
    maker = {"command": f"train-{method}", "corpus": corpus.fingerprint, **fixed}
    resume = CHECKPOINTS if resumable else None
    with new_run(out, maker, force=force, resume=resume) as run:
        device, checkpoints = choose_device(config.device), run.path / CHECKPOINTS
        if checkpoints.exists() or not (run.path / MATRIX).is_file():
            checkpoints.mkdir(exist_ok=True)  # its existence means that the run is not complete
            with torch_threads(config.threads):
                vectors = train(run.path, device)
            vectors.save(run.path)
        clear_checkpoints(checkpoints)
        run.describe(
            method, options, corpus.text, seeds=[config.seed],
            threads=thread_count(config.threads), device=device, **corpus.trained_on,
        )  # fmt: skip
    return out
