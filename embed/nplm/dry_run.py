"""Estimate what the next-word network takes, by training it for some seconds."""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.console import human
from firth.corpora.common.device import choose_device
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.common.reporting import no_progress
from firth.embed.nplm.config import TUNING, NplmConfig
from firth.embed.nplm.train import Training, open_text, with_samples
from firth.embed.vectors.training import torch_threads
from firth.embed.word2vec.dry_run import bytes_about

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

_SECONDS = 4.0  # of training that are timed


def estimate_nplm(corpus: "Corpus", config: NplmConfig) -> Estimate:
    """Estimate the cost of a training; the network is trained for a moment and discarded."""
    device = choose_device(config.device)
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="firth-") as folder,
        torch_threads(config.threads),
        peak_memory() as peak,
    ):
        text = open_text(corpus, config)
        config = with_samples(config, text)
        training = Training(text, config, device, Path(folder), no_progress, TUNING)
        opening = time.perf_counter() - started
        measured, tokens, others = training.train_a_moment(_SECONDS)
    work = text.n_tokens * config.epochs
    seconds = opening + work * measured / tokens + others
    lines = seconds / TUNING.metrics_seconds + config.epochs
    return Estimate(
        disk=4 * config.dim * len(text.words) + bytes_about(corpus, text, lines),
        temporary=room_for_checkpoints(training.checkpoint_bytes),
        memory=peak.bytes,
        seconds=seconds,
        sizes={
            "words": len(text.words), "dim": config.dim, "epochs": config.epochs, "tokens": work,
            "tokens_per_second": round(tokens / measured), "device": device,
        },
        reckoned_from=(
            f"{human(tokens)} of {human(work)} tokens, on which the real network was trained in "
            f"{measured:.1f} s"
        ),
    )  # fmt: skip
