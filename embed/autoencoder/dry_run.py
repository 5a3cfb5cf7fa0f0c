"""Estimate what an auto-encoder takes, by counting the text and training on some of the rows."""

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.device import choose_device
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.peak_memory import peak_memory
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import checkpoint_bytes
from firth.embed.autoencoder.train import open_words, train_codes
from firth.embed.svd.train import weighted_matrix
from firth.embed.vectors.training import torch_threads
from firth.embed.vectors.wordlist import word_lines

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

_BATCHES = 12  # that are timed
_ABOUT, _LINE_BYTES = 2_700, 110  # bytes of settings and checksums, and of a line of metrics


def estimate_autoencoder(corpus: "Corpus", config: AutoencoderConfig) -> Estimate:
    """Estimate the cost of a training: the text is counted whole, and some rows are learned."""
    started, config = time.perf_counter(), config.resolved()
    device = choose_device(config.device)
    with peak_memory() as peak, torch_threads(config.threads):
        words, matrix = weighted_matrix(corpus, config.counting())
        used = np.flatnonzero(np.diff(matrix.indptr))
        order = np.random.default_rng(config.seed).permutation(used)[: _BATCHES * config.batch]
        _seconds(matrix[order[: config.batch]], config, device, 1)  # loads torch
        starting = time.perf_counter() - started
        one, three = (_seconds(matrix[order], config, device, epochs) for epochs in (1, 3))
        epoch = (three - one) / 2
    growth = len(used) / len(order)
    counts = open_words(corpus, config).counts
    lines = len(word_lines(words, counts)) + (config.epochs + 1) * _LINE_BYTES
    return Estimate(
        disk=4 * len(words) * config.dim + lines + _ABOUT,
        temporary=room_for_checkpoints(checkpoint_bytes(config, matrix.shape[1])),
        memory=peak.bytes,
        seconds=starting + growth * (one + (config.epochs - 1) * epoch),
        sizes={
            "words": len(words), "dim": config.dim, "epochs": config.epochs,
            "nonzeros": int(matrix.nnz), "device": device,
        },
        reckoned_from=(
            f"the counts of the whole text, and {len(order):,} of {len(used):,} rows, learned in "
            f"{epoch:.2f} s an epoch"
        ),
    )  # fmt: skip


def _seconds(rows: Any, config: AutoencoderConfig, device: str, epochs: int) -> float:
    """Return how long the training on some rows takes."""
    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        started = time.perf_counter()
        train_codes(rows, dataclasses.replace(config, epochs=epochs), device, Path(folder))
        return time.perf_counter() - started
