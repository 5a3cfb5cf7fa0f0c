"""Train auto-encoders of co-occurrence rows; their codes are a run of word vectors."""

import dataclasses
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.artifacts.checkpoint import (
    CHECKPOINTS,
    clear_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from firth.corpora.artifacts.metrics import METRICS, Metrics
from firth.corpora.common.errors import FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import Progress, note, progress
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import NO_LOSSES, Losses, Network
from firth.embed.autoencoder.sparse_rows import SparseRows
from firth.embed.svd.train import weighted_matrix
from firth.embed.vectors.training import make_network_run, train_vectors
from firth.embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # it imports numba, and --help needs only the config
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus, View

METHOD = "autoencoder"
_ORDER, _NOISE = 1, 2  # keys of the random streams
_CHECKPOINT_SECONDS = 300.0


def train_autoencoder(
    corpus: "Corpus | TextSource",
    config: AutoencoderConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> WordVectors:
    """Train an auto-encoder of the rows of PPMI or log counts, or resume an interrupted training.

    Its codes are word vectors. On the CPU, bit-identical at the same number of threads,
    interrupted or not, on the same kind of processor.

    Parameters
    ----------
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it. Only its
        training documents are counted.
    config : AutoencoderConfig, optional
        The settings; by default those of ``AutoencoderConfig()``.
    out : str or Path, optional
        Directory of the run to make. If a training with the same settings was interrupted, it
        is resumed from ``out.partial``. Without ``out``, the vectors are only returned, and an
        interrupted training is lost.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    WordVectors
        float32 (V, dim), the codes, of which a variational network gives the means. With
        ``out``, memory-mapped from the run: ``config.json``, ``provenance.json``,
        ``vocabulary.tsv``, ``vectors.npy``, ``metrics.jsonl`` and ``checksums.json``. Otherwise
        in memory.

    Raises
    ------
    ArtifactError
        If ``out`` exists or another process is making it.
    SettingError
        If no word is frequent enough, ``dim`` exceeds the vocabulary, or the device is missing.
    FirthError
        If no two words occur together, or the training diverged.
    """
    settings = config_of(config, AutoencoderConfig)

    def train(opened: "Corpus", run: Path) -> Path:
        return make_autoencoder_run(opened, settings, run, force=force, resumable=out is not None)

    return train_vectors(train, corpus, out, METHOD, force=force)


def make_autoencoder_run(
    corpus: "Corpus",
    config: AutoencoderConfig,
    out: Path,
    *,
    force: bool = False,
    resumable: bool = True,
    checkpoint_seconds: float = _CHECKPOINT_SECONDS,
) -> Path:
    """Count, weight and train, or resume a training; write the codes as a run, return its path."""
    config = config.resolved()

    def train(partial: Path, device: str) -> WordVectors:
        words, matrix = weighted_matrix(corpus, config.counting(), partial)
        vectors, unexplained = train_codes(matrix, config, device, partial, checkpoint_seconds)
        if unexplained > 1:
            note(
                "the network reconstructs the rows worse than zeros would; pass more `epochs` or a "
                "smaller `learning_rate`"
            )
        if n_alone := int((np.diff(matrix.indptr) == 0).sum()):
            have = "1 word has" if n_alone == 1 else f"{n_alone} words have"
            note(f"{corpus.path}: {have} no context words and a zero vector")
        return WordVectors(words, vectors, counts=open_words(corpus, config).counts)

    return make_network_run(train, corpus, config, out, METHOD, force=force, resumable=resumable)


def open_words(corpus: "Corpus", config: AutoencoderConfig) -> "View":
    """Open the text with the words that get vectors."""
    return corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
    )


def train_codes(
    matrix: Any,
    config: AutoencoderConfig,
    device: str = "cpu",
    directory: Path | None = None,
    checkpoint_seconds: float = _CHECKPOINT_SECONDS,
) -> tuple[np.ndarray, float]:
    """Train a network on the rows of a matrix; return their codes, and what these leave out.

    Empty rows have zeros. What is left out is a share of the squares.

    In a directory, a training that was interrupted there is resumed, and its metrics gain a line
    per epoch, with the unexplained share of the squares, and the KL divergence per word in nats if
    the network is variational; the last line is of the finished network, without noise.
    """
    # matrix: scipy.sparse CSR, float32 (V, C); returns float32 (V, D)
    training = _Training(matrix, config, device, directory, checkpoint_seconds)
    with progress("training", "steps") as show:
        try:
            training.run(show)
            return training.codes()
        except KeyboardInterrupt:
            training.save()
            raise


class _Training:
    """A training in progress: the next step, and the losses of the epoch so far."""

    def __init__(
        self,
        matrix: Any,
        config: AutoencoderConfig,
        device: str,
        directory: Path | None,
        checkpoint_seconds: float,
    ) -> None:
        self._matrix, self._config, self._device = matrix, config, device
        self._network = Network(config, matrix.shape[1], _mean_squares(matrix), device)
        self._used = np.flatnonzero(np.diff(matrix.indptr))
        self._steps_of_epoch = -(-len(self._used) // config.batch)
        self._step, self._losses, self._seconds = 0, NO_LOSSES, 0.0
        self._checkpoints = None if directory is None else directory / CHECKPOINTS
        self._checkpoint_seconds, self._saved = checkpoint_seconds, time.monotonic()
        if self._checkpoints and (found := load_checkpoint(self._checkpoints)):
            arrays, state = found
            self._step, self._losses = state["step"], Losses(**state["losses"])
            self._seconds = state["seconds"]
            self._network.load(arrays, self._step)
        self._metrics = None
        if directory is not None:
            done = self._step // self._steps_of_epoch
            self._metrics = Metrics(
                directory / METRICS, lambda line: line["epoch"] <= done and not line["finished"]
            )

    def run(self, show: Progress) -> None:
        """Train from the next step to the end."""
        steps, order, shuffled = self._steps_of_epoch * self._config.epochs, self._used, -1
        while self._step < steps:
            epoch, part = divmod(self._step, self._steps_of_epoch)
            if shuffled != epoch:
                rng = np.random.default_rng((_ORDER, self._config.seed, epoch))
                order, shuffled = rng.permutation(self._used), epoch
            with defer_interrupts():
                began, size = time.perf_counter(), self._config.batch
                self._losses += self._learn(order[part * size : (part + 1) * size], steps)
                self._seconds += time.perf_counter() - began
                self._step += 1
                show(self._step, steps, f"unexplained {self._losses.unexplained:.4f}")
                if part + 1 == self._steps_of_epoch:
                    self._write(epoch + 1, self._losses, round(self._seconds, 3))
                    self._losses, self._seconds = NO_LOSSES, 0.0
            if time.monotonic() - self._saved > self._checkpoint_seconds:
                self.save()

    def codes(self) -> tuple[np.ndarray, float]:
        """Return the codes of all rows, float32 (V, D), and the unexplained share of the squares.

        Writes the metrics of the finished network.
        """
        config, total = self._config, NO_LOSSES
        vectors = np.zeros((self._matrix.shape[0], config.dim), np.float32)
        for first in range(0, len(self._used), config.batch):
            ids = self._used[first : first + config.batch]
            rows = SparseRows(self._matrix[ids], self._device)
            vectors[ids], losses = self._network.encode(rows)
            total += losses
        self._write(config.epochs, total, None)
        return vectors, total.unexplained

    def save(self) -> None:
        """Write a checkpoint."""
        if self._checkpoints is None:
            return
        losses = dataclasses.asdict(self._losses)
        state = {"step": self._step, "losses": losses, "seconds": self._seconds}
        save_checkpoint(self._checkpoints, self._network.arrays(), state)
        self._saved = time.monotonic()

    def _learn(self, ids: np.ndarray, steps: int) -> Losses:
        """Reconstruct some rows and learn from it; return the losses."""
        config, rows = self._config, self._matrix[ids]
        rng = np.random.default_rng((_NOISE, config.seed, self._step))
        whole = seen = SparseRows(rows, self._device)
        if config.noise:
            seen = SparseRows(_noisy(rows, config.noise, rng), self._device)
        losses = self._network.backward(seen, whole, rng)
        self._network.step(config.learning_rate * (1 - self._step / steps))
        return losses

    def _write(self, epoch: int, losses: Losses, seconds: float | None) -> None:
        """Write the line of an epoch, or of the finished network; raise if it diverged."""
        config = self._config
        if not math.isfinite(losses.error + losses.divergence):
            if self._checkpoints is not None:
                clear_checkpoints(self._checkpoints)
            raise FirthError(
                f"training diverged in epoch {epoch}; pass "
                f"`learning_rate={config.learning_rate / 4:.2g}` or less"
            )
        if self._metrics is None:
            return
        line: dict[str, Any] = {"epoch": epoch, "unexplained": losses.unexplained}
        if config.beta is not None:
            line["divergence"] = losses.divergence / len(self._used)
        if seconds is not None:
            line["seconds"] = seconds
        self._metrics.write(**line, finished=seconds is None)


def _mean_squares(matrix: Any) -> float:
    """Return the sum of squares of a row, on average over rows that are not empty."""
    rows = max(1, int((np.diff(matrix.indptr) > 0).sum()))
    return float(np.square(matrix.data, dtype=np.float64).sum()) / rows


def _noisy(rows: Any, share: float, rng: np.random.Generator) -> Any:
    """Return rows with a share of their entries 0, the others scaled up to the same mean."""
    seen = rows.copy()
    seen.data *= (rng.random(len(seen.data)) >= share) / np.float32(1 - share)
    return seen
