"""Train auto-encoders of co-occurrence rows; their codes are a run of word vectors."""

import dataclasses
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.artifacts.artifact import new_artifact, write_json
from corpora.artifacts.metrics import METRICS, Metrics
from corpora.artifacts.provenance import now, provenance
from corpora.common.device import choose_device
from corpora.common.errors import FirthError
from corpora.common.options import config_of
from corpora.common.reporting import note, progress
from corpora.common.threads import thread_count
from embed.autoencoder.config import AutoencoderConfig
from embed.autoencoder.network import Losses, Network
from embed.autoencoder.sparse_rows import SparseRows
from embed.svd.train import weighted_matrix
from embed.vectors.training import torch_threads, train_vectors
from embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # it imports numba, and --help needs only the config
    from corpora.store.corpus import Corpus, View

FORMAT = 1
METHOD = "autoencoder"
_ORDER, _NOISE = 1, 2  # keys of the random streams


def train_autoencoder(
    corpus: "Corpus | str | Path",
    config: AutoencoderConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> WordVectors:
    """Train an auto-encoder of the rows of PPMI or log counts; its codes are word vectors.

    On the CPU, bit-identical at the same number of threads on the same kind of processor. An
    interrupted training starts again: it takes minutes.

    Parameters
    ----------
    corpus : Corpus, str or Path
        A corpus, the path of one, or text as :func:`corpora.open_or_build` takes it. Only its
        training documents are counted.
    config : AutoencoderConfig, optional
        The settings; by default those of ``AutoencoderConfig()``.
    out : str or Path, optional
        Directory of the run to make. Without it, the vectors are only returned.
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
        return make_autoencoder_run(opened, settings, run, force=force)

    return train_vectors(train, corpus, out, METHOD, force=force)


def make_autoencoder_run(
    corpus: "Corpus", config: AutoencoderConfig, out: Path, *, force: bool = False
) -> Path:
    """Count, weight and train; write the codes as a run and return its path."""
    started, config = now(), config.resolved()
    options = dataclasses.asdict(config)
    maker = {"command": f"train-{METHOD}", "corpus": corpus.fingerprint, **options}
    with new_artifact(out, maker, force=force) as partial:
        device = choose_device(config.device)
        words, matrix = weighted_matrix(corpus, config.counting(), partial)
        with torch_threads(config.threads):
            vectors = train_codes(matrix, config, device, partial / METRICS)
        if n_alone := int((np.diff(matrix.indptr) == 0).sum()):
            have = "1 word has" if n_alone == 1 else f"{n_alone} words have"
            note(f"{corpus.path}: {have} no context words and a zero vector")
        WordVectors(words, vectors, counts=open_words(corpus, config).counts).save(partial)
        head = {"format": FORMAT, "method": METHOD}
        write_json(partial / "config.json", {**head, **options, "text": corpus.text.to_json()})
        about = {"threads": thread_count(config.threads), "device": device, **corpus.trained_on}
        write_json(partial / "provenance.json", provenance(started, seeds=[config.seed], **about))
    return out


def open_words(corpus: "Corpus", config: AutoencoderConfig) -> "View":
    """Open the text with the words that get vectors."""
    return corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
    )


def train_codes(
    matrix: Any, config: AutoencoderConfig, device: str = "cpu", metrics: Path | None = None
) -> np.ndarray:
    """Train a network on the rows of a matrix and return their codes; empty rows have zeros.

    ``metrics`` gains a line per epoch, with the unexplained share of the squares, and the KL
    divergence per word in nats if the network is variational; the last line is of the finished
    network, without noise.
    """
    # matrix: scipy.sparse CSR, float32 (V, C); returns float32 (V, D)
    log = _Log(metrics, config)
    network = Network(config, matrix.shape[1], _mean_squares(matrix), device)
    used = np.flatnonzero(np.diff(matrix.indptr))
    steps = -(-len(used) // config.batch) * config.epochs
    step = 0
    with progress("training", "steps") as show:
        for epoch in range(config.epochs):
            total, began = Losses(0.0, 0.0, 0.0), time.perf_counter()
            order = np.random.default_rng((_ORDER, config.seed, epoch)).permutation(used)
            for ids in _parts(order, config.batch):
                rows, rng = matrix[ids], np.random.default_rng((_NOISE, config.seed, step))
                whole = seen = SparseRows(rows, device)
                if config.noise:
                    seen = SparseRows(_noisy(rows, config.noise, rng), device)
                total += network.backward(seen, whole, rng)
                network.step(config.learning_rate * (1 - step / steps))
                step += 1
                show(step, steps, f"unexplained {total.unexplained:.4f}")
            _check_finite(total, epoch, config)
            log.write(epoch + 1, total, len(used), time.perf_counter() - began)
    vectors, total = np.zeros((matrix.shape[0], config.dim), np.float32), Losses(0.0, 0.0, 0.0)
    for ids in _parts(used, config.batch):
        vectors[ids], losses = network.encode(SparseRows(matrix[ids], device))
        total += losses
    _check_finite(total, config.epochs - 1, config)
    log.write(config.epochs, total, len(used), None)
    if total.unexplained > 1:
        note(
            "the network reconstructs the rows worse than zeros would; pass more `epochs` or a "
            "smaller `learning_rate`"
        )
    return vectors


def _check_finite(losses: Losses, epoch: int, config: AutoencoderConfig) -> None:
    """Raise if the training diverged."""
    if not math.isfinite(losses.error + losses.divergence):
        raise FirthError(
            f"training diverged in epoch {epoch + 1}; pass "
            f"`learning_rate={config.learning_rate / 4:.2g}` or less"
        )


class _Log:
    """Writes ``metrics.jsonl``."""

    def __init__(self, path: Path | None, config: AutoencoderConfig) -> None:
        self._metrics = None if path is None else Metrics(path, lambda line: False)
        self._variational = config.beta is not None

    def write(self, epoch: int, losses: Losses, words: int, seconds: float | None) -> None:
        """Write a line, of an epoch, or of the finished network if it took no seconds."""
        if self._metrics is None:
            return
        line: dict[str, Any] = {"epoch": epoch, "unexplained": losses.unexplained}
        if self._variational:
            line["divergence"] = losses.divergence / words
        if seconds is not None:
            line["seconds"] = round(seconds, 3)
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


def _parts(ids: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield consecutive parts of an array."""
    for first in range(0, len(ids), size):
        yield ids[first : first + size]
