"""Train auto-encoders of co-occurrence rows; their codes are a run of word vectors."""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.checkpoint import CHECKPOINTS
from firth.corpora.common.device import choose_device
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.corpora.encoding.build import open_or_build
from firth.corpora.reading.in_memory import TextSource
from firth.corpora.store.corpus import Corpus, View
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import NO_LOSSES, AutoencoderNetwork, Losses, checkpoint_bytes
from firth.embed.autoencoder.row_session import CHECKPOINT_SECONDS, RowSession
from firth.embed.autoencoder.sparse_rows import SparseRows
from firth.embed.runs.writer import new_run, training_maker
from firth.embed.svd.train import weighted_matrix
from firth.embed.vectors.dry_run import estimate_training
from firth.embed.vectors.training import open_trained, run_folder, torch_threads
from firth.embed.vectors.word_vectors import WordVectors

METHOD = "autoencoder"
_ORDER, _NOISE = 1, 2  # keys of the random streams


def train_autoencoder(
    corpus: Corpus | TextSource,
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
    corpus, config, out, force
        As of :func:`firth.train_skipgram`, with an AutoencoderConfig.

    Returns
    -------
    WordVectors
        float32 (V, dim), the codes, of which a variational network gives the means. With
        ``out``, memory-mapped from the run: ``config.json``, ``provenance.json``,
        ``vocabulary.tsv``, ``vectors.npy``, ``metrics.jsonl`` and ``checksums.json``. Otherwise
        in memory.

    Raises
    ------
    ArtifactError, SettingError, FirthError
        As by :func:`firth.train_skipgram`, and if no two words occur together, ``dim`` exceeds the
        vocabulary, or the device is missing.
    """
    config = config_of(config, AutoencoderConfig)
    with run_folder(out, force=force) as run:
        opened = open_or_build(corpus)
        make_autoencoder_run(opened, config, run, force=force, resumable=out is not None)
        return open_trained(run, opened, METHOD, out)


def make_autoencoder_run(
    corpus: Corpus,
    config: AutoencoderConfig,
    out: Path,
    *,
    force: bool = False,
    resumable: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Path:
    """Count, weight and train, or resume a training; write the codes as a run, return its path."""
    config = config.resolved()
    maker = training_maker(METHOD, config, corpus)
    resume = CHECKPOINTS if resumable else None
    with torch_threads(config.threads), new_run(out, maker, force=force, resume=resume) as run:
        device = choose_device(config.device)
        words, matrix = weighted_matrix(corpus, config.counting(), run.path)
        vectors, unexplained = train_codes(matrix, config, device, run.path, checkpoint_seconds)
        if unexplained > 1:
            note(
                "the network reconstructs the rows worse than zeros would; pass more `epochs` or a "
                "smaller `learning_rate`"
            )
        if n_alone := int((np.diff(matrix.indptr) == 0).sum()):
            have = "1 word has" if n_alone == 1 else f"{n_alone} words have"
            note(f"{corpus.path}: {have} no context words and a zero vector")
        WordVectors(words, vectors, counts=open_words(corpus, config).counts).write(run.path)
        threads = thread_count(config.threads)
        run.describe_training(METHOD, config, corpus, threads=threads, device=device)
    return out


def estimate_autoencoder(corpus: Corpus, config: AutoencoderConfig) -> Estimate:
    """Estimate the cost of a training."""
    view = open_words(corpus, config)
    return estimate_training(
        METHOD, corpus, config, view.words, view.counts,
        checkpoint=checkpoint_bytes(config.resolved(), len(view.words)),
    )  # fmt: skip


def open_words(corpus: Corpus, config: AutoencoderConfig) -> View:
    """Open the text with the words that get vectors."""
    return corpus.view(
        min_count=config.min_count, max_vocabulary=config.max_vocabulary, punctuation="drop"
    )


def train_codes(
    matrix: Any,
    config: AutoencoderConfig,
    device: str,
    run: Path,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> tuple[np.ndarray, float]:
    """Train a network on the rows of a matrix; return codes and the share that these lack."""
    # matrix: scipy.sparse CSR, float32 (V, C); returns float32 (V, D)
    used = np.flatnonzero(np.diff(matrix.indptr))
    # of a row, on average over rows that are not empty
    squares = float(np.square(matrix.data, dtype=np.float64).sum()) / max(1, len(used))
    network = AutoencoderNetwork(config, matrix.shape[1], squares, device)
    with RowSession(run, network, config, len(used), checkpoint_seconds) as session:
        for epoch in range(session.position.epoch, config.epochs):
            order = np.random.default_rng((_ORDER, config.seed, epoch)).permutation(used)
            for first in session.steps(session.row_numbers(epoch)):
                rows = matrix[order[first : first + config.batch]]
                session.learned(_learn(network, rows, config, device, session))
            session.end_epoch()
        vectors, losses = np.zeros((matrix.shape[0], config.dim), np.float32), NO_LOSSES
        for first in range(0, len(used), config.batch):
            ids = used[first : first + config.batch]
            vectors[ids], of_batch = network.encode(SparseRows(matrix[ids], device))
            losses += of_batch
        session.write(losses, finished=True)
    return vectors, losses.unexplained


def _learn(
    network: AutoencoderNetwork,
    rows: Any,
    config: AutoencoderConfig,
    device: str,
    session: RowSession,
) -> Losses:
    """Reconstruct some rows and learn from it; return the losses."""
    step = session.position.step
    rng = np.random.default_rng((_NOISE, config.seed, step))
    whole = seen = SparseRows(rows, device)
    if config.noise:  # a share of the entries is 0, the others are scaled up to the same mean
        noisy = rows.copy()
        noisy.data *= (rng.random(len(noisy.data)) >= config.noise) / np.float32(1 - config.noise)
        seen = SparseRows(noisy, device)
    losses = network.backward(seen, whole, rng)
    network.step(config.learning_rate * (1 - step / session.total))
    return losses
