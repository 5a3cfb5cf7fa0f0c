"""Estimate what the next-word network takes, by training it for some seconds."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.console import human
from firth.corpora.common.device import choose_device
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.peak_memory import peak_memory
from firth.embed.nplm.config import TUNING, NplmConfig
from firth.embed.nplm.network import Network
from firth.embed.nplm.train import make_network, open_text, unit_losses, with_samples
from firth.embed.nplm.windows import Noise, batches
from firth.embed.vectors.training import torch_threads
from firth.embed.word2vec.dry_run import bytes_about, time_steps
from firth.embed.word2vec.loop import held_out_batch
from firth.embed.word2vec.training_text import TrainingText

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus


def estimate_nplm(corpus: "Corpus", config: NplmConfig) -> Estimate:
    """Estimate the cost of a training; the network is trained for a moment and discarded."""
    device = choose_device(config.device)
    started = time.perf_counter()
    with torch_threads(config.threads), peak_memory() as peak:
        text = open_text(corpus, config)
        config = with_samples(config, text)
        network = make_network(text, config, device)
        opening = time.perf_counter() - started
        measured, tokens, loading = time_steps(_steps(network, text, config))
        held_out, started = held_out_batch(text, TUNING), time.perf_counter()
        if held_out:
            unit_losses(network, held_out, config)
        others = loading + config.epochs * (time.perf_counter() - started)
        checkpoint = sum(array.nbytes for array in network.arrays().values())
    work = text.n_tokens * config.epochs
    seconds = opening + work * measured / tokens + others
    lines = seconds / TUNING.metrics_seconds + config.epochs
    return Estimate(
        disk=4 * config.dim * len(text.words) + bytes_about(corpus, text, lines),
        temporary=room_for_checkpoints(checkpoint),
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


def _steps(network: Network, text: TrainingText, config: NplmConfig) -> Iterator[int]:
    """Train for an epoch; yield the words of each step."""
    noise = Noise(text.counts, config.samples, config.seed) if config.samples else None
    for step, (contexts, targets) in enumerate(batches(text, 0, config)):
        drawn = None if noise is None else noise.draw(step)
        network.learn(contexts, targets, config.learning_rate, drawn)
        yield len(targets)
