"""Train the next-word network; its first layer is a run of word vectors.

Bengio, Ducharme, Vincent and Jauvin 2003, "A neural probabilistic language model", JMLR 3;
Bengio and Senécal 2003, "Quick training of probabilistic neural nets by importance sampling",
AISTATS, for the sampled softmax.
"""

import itertools
import math
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.checkpoint import CHECKPOINTS
from firth.corpora.common.device import choose_device
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.options import config_of
from firth.corpora.common.threads import thread_count
from firth.corpora.encoding.build import open_or_build
from firth.corpora.reading.in_memory import TextSource
from firth.corpora.store.corpus import Corpus
from firth.embed.nplm.config import TUNING, NplmConfig, with_samples
from firth.embed.nplm.network import NextWordNetwork
from firth.embed.nplm.windows import Noise, batches, unit_starts, windows
from firth.embed.runs.writer import new_run, training_maker
from firth.embed.vectors.dry_run import estimate_training
from firth.embed.vectors.training import (
    open_trained,
    require_contexts,
    run_folder,
    torch_threads,
)
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import Tuning
from firth.embed.word2vec.loop import held_out_batch
from firth.embed.word2vec.schedule import TextBatch
from firth.embed.word2vec.text_session import LossSum, TextSession
from firth.embed.word2vec.training_text import TrainingText

METHOD = "nplm"
_MIN_WORDS = 50  # a mean loss of fewer says little
_EVALUATED = 256  # held-out words at once, each with a score for every word of the vocabulary


def train_nplm(
    corpus: Corpus | TextSource,
    config: NplmConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> WordVectors:
    """Train the next-word network of Bengio et al. (2003), or resume an interrupted training.

    Each word is predicted from the vectors of the words before it in its unit of text. On the
    CPU, bit-identical at the same number of threads, interrupted or not, on the same kind of
    processor.

    Parameters
    ----------
    corpus, config, out, force
        As of :func:`firth.train_skipgram`, with an NplmConfig.

    Returns
    -------
    WordVectors
        float32 (V, dim), the first layer. With ``out``, memory-mapped from the run:
        ``config.json``, ``provenance.json``, ``vocabulary.tsv``, ``vectors.npy``,
        ``metrics.jsonl``, ``held_out.npy`` float64 (2, U) and ``checksums.json``. Otherwise in
        memory.

    Raises
    ------
    ArtifactError, SettingError, FirthError
        As by :func:`firth.train_skipgram`, and if the device is missing.
    """
    config = config_of(config, NplmConfig)
    with run_folder(out, force=force) as run:
        opened = open_or_build(corpus)
        make_nplm_run(opened, config, run, force=force, resumable=out is not None)
        return open_trained(run, opened, METHOD, out)


def make_nplm_run(
    corpus: Corpus,
    config: NplmConfig,
    out: Path,
    *,
    force: bool = False,
    resumable: bool = True,
    tuning: Tuning = TUNING,
) -> Path:
    """Train, or resume an interrupted training; write the run and return its path."""
    text = open_text(corpus, config)
    config = with_samples(config, len(text.words))
    maker = training_maker(METHOD, config, corpus)
    resume = CHECKPOINTS if resumable else None
    with torch_threads(config.threads), new_run(out, maker, force=force, resume=resume) as run:
        device = choose_device(config.device)
        network = make_network(text, config, device)
        train_network(network, text, config, run.path, tuning)
        vectors = network.arrays()["words"][:-1]
        WordVectors(text.words, vectors, counts=text.counts).write(run.path)
        threads = thread_count(config.threads)
        run.describe_training(METHOD, config, corpus, threads=threads, device=device)
    return out


def estimate_nplm(corpus: Corpus, config: NplmConfig) -> Estimate:
    """Estimate the cost of a training."""
    text = open_text(corpus, config)
    arrays = make_network(text, config, "cpu").arrays()
    checkpoint = sum(array.nbytes for array in arrays.values())
    del arrays
    return estimate_training(METHOD, corpus, config, text.words, text.counts, checkpoint=checkpoint)


def open_text(corpus: Corpus, config: NplmConfig) -> TrainingText:
    """Open the training text and choose the vocabulary."""
    view = corpus.view(min_count=config.min_count, punctuation="drop", boundary="paragraph")
    require_contexts(view, corpus.path)
    return TrainingText(view, view.words, view.counts)


def make_network(text: TrainingText, config: NplmConfig, device: str) -> NextWordNetwork:
    """Return the network before training: it predicts the frequencies of the words."""
    network = NextWordNetwork(
        len(text.words), config.dim, config.window, config.hidden, config.seed, device
    )
    network.start_from_counts(text.counts)
    return network


def train_network(
    network: NextWordNetwork, text: TrainingText, config: NplmConfig, run: Path, tuning: Tuning
) -> None:
    """Train to the end, from the last checkpoint in an unfinished run if there is one."""
    noise = Noise(text.counts, config.samples, config.seed) if config.samples else None
    held_out, total = held_out_batch(text, tuning), text.n_tokens * config.epochs
    with TextSession(
        run, network, tuning, total=total, first_rate=config.learning_rate,
        most_loss=4 * math.log(len(text.words) + 1), least_pairs=_MIN_WORDS,
    ) as session:  # fmt: skip
        for epoch in range(session.position.epoch, config.epochs):
            first = session.position.part
            for contexts, targets in session.steps(batches(text, epoch, config, first)):
                at = session.position
                rate = config.learning_rate * (1 - at.tokens / total)
                drawn = None if noise is None else noise.draw(at.step)
                loss = LossSum(network.learn(contexts, targets, rate, drawn), len(targets))
                session.learned(loss, len(targets), 1, rate)
            session.end_epoch(unit_losses(network, held_out, config) if held_out else [])


def unit_losses(network: NextWordNetwork, text: TextBatch, config: NplmConfig) -> list[LossSum]:
    """Return the losses of held-out words by unit of text, over the whole vocabulary."""
    starts, padding = unit_starts(text.offsets), network.n_words
    losses = np.empty(len(text.rows))
    for first in range(0, len(losses), _EVALUATED):
        places = np.arange(first, min(first + _EVALUATED, len(losses)))
        before = windows(text.rows, starts, places, config.window, padding)
        losses[places] = network.losses(before, text.rows[places].astype(np.int64))
    bounds = text.offsets[text.bounds].tolist()
    return [
        LossSum(float(losses[first:stop].sum()), stop - first)
        for first, stop in itertools.pairwise(bounds)
    ]
