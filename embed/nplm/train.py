"""Train the next-word network; its first layer is a run of word vectors.

Bengio, Ducharme, Vincent and Jauvin 2003, "A neural probabilistic language model", JMLR 3;
Bengio and Senécal 2003, "Quick training of probabilistic neural nets by importance sampling",
AISTATS, for the sampled softmax.
"""

import dataclasses
import itertools
import math
import time
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.checkpoint import (
    CHECKPOINTS,
    clear_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from firth.corpora.artifacts.metrics import METRICS, write_unit_losses
from firth.corpora.common.errors import FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import Progress, progress
from firth.corpora.reading.in_memory import TextSource
from firth.corpora.store.corpus import Corpus
from firth.embed.nplm.config import TUNING, NplmConfig, Tuning, samples_for
from firth.embed.nplm.network import Network
from firth.embed.nplm.windows import Noise, Position, batches, unit_starts, windows
from firth.embed.vectors.training import make_network_run, train_vectors
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import Tuning as HeldOutSizes
from firth.embed.word2vec.loop import held_out_batch
from firth.embed.word2vec.metrics import LossSum, TrainingMetrics
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
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it. Only its
        training documents are read.
    config : NplmConfig, optional
        The settings; by default those of ``NplmConfig()``.
    out : str or Path, optional
        Directory of the run to make. If a training with the same settings was interrupted, it
        is resumed from ``out.partial``. Without ``out``, the vectors are only returned, and an
        interrupted training is lost.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    WordVectors
        float32 (V, dim), the first layer. With ``out``, memory-mapped from the run:
        ``config.json``, ``provenance.json``, ``vocabulary.tsv``, ``vectors.npy``,
        ``metrics.jsonl``, ``held_out.npy`` float64 (2, U) and ``checksums.json``. Otherwise in
        memory.

    Raises
    ------
    ArtifactError
        If ``out`` exists or another process is making it.
    SettingError
        If no word is frequent enough, or the device is missing.
    FirthError
        If the training diverged.
    """
    settings = config_of(config, NplmConfig)

    def train(opened: Corpus, run: Path) -> Path:
        return make_nplm_run(opened, settings, run, force=force, resumable=out is not None)

    return train_vectors(train, corpus, out, METHOD, force=force)


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
    config = with_samples(config, text)

    def train(partial: Path, device: str) -> WordVectors:
        with progress("training", "tokens") as show:
            vectors = Training(text, config, device, partial, show, tuning).run()
        return WordVectors(text.words, vectors, counts=text.counts)

    return make_network_run(train, corpus, config, out, METHOD, force=force, resumable=resumable)


def open_text(corpus: Corpus, config: NplmConfig) -> TrainingText:
    """Open the training text and choose the vocabulary."""
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
    )
    return TrainingText(view, view.words, view.counts)


def with_samples(config: NplmConfig, text: TrainingText) -> NplmConfig:
    """Return a config whose number of samples is chosen."""
    return dataclasses.replace(config, samples=samples_for(config, len(text.words)))


class Training:
    """A training run in progress."""

    def __init__(
        self,
        text: TrainingText,
        config: NplmConfig,
        device: str,
        directory: Path,
        show: Progress,
        tuning: Tuning,
    ) -> None:
        self._text, self._config, self._directory = text, config, directory
        self._progress, self._tuning = show, tuning
        self._total = text.n_tokens * config.epochs
        self._network = Network(
            len(text.words), config.dim, config.window, config.hidden, config.seed, device
        )
        self._network.start_from_counts(text.counts)
        samples, counts = config.samples, text.counts
        self._noise = Noise(counts, samples, config.seed) if samples else None
        self._position = self._load()
        self._metrics = TrainingMetrics(
            directory / METRICS, self._position.tokens, self._position.epoch, self._total,
            tuning.metrics_seconds,
        )  # fmt: skip
        self._held_out = held_out_batch(text, HeldOutSizes(held_out_tokens=tuning.held_out_tokens))
        self._saved = time.monotonic()

    def run(self) -> np.ndarray:
        """Train from the current position to the end; return the word vectors."""
        # returns float32 (V, D)
        try:
            self._run()
        except KeyboardInterrupt:
            self._save()
            raise
        return self._network.arrays()["words"][:-1]

    def train_a_moment(self, least: float) -> tuple[float, int, float]:
        """Train for some seconds; return these, the words predicted, and the seconds besides.

        Those are of the first batch, as far as it took longer, and of the end of each epoch.
        """
        config, seconds, words = self._config, [], []
        started = time.perf_counter()
        for epoch, shard, batch, contexts, targets in batches(
            self._text, width=config.window, size=config.batch, epochs=1,
            seed=config.seed, start=self._position,
        ):  # fmt: skip
            self._step(epoch, shard, batch, contexts, targets)
            ended = time.perf_counter()
            seconds.append(ended - started)
            words.append(len(targets))
            started = ended
            if sum(seconds[1:]) > least:
                break
        started = time.perf_counter()
        self._end_epoch()
        measuring = config.epochs * (time.perf_counter() - started)
        if len(seconds) == 1:
            return seconds[0], words[0], measuring
        trained, n_words = sum(seconds[1:]), sum(words[1:])
        return trained, n_words, measuring + max(0.0, seconds[0] - words[0] * trained / n_words)

    @property
    def checkpoint_bytes(self) -> int:
        """The size of a checkpoint."""
        return sum(array.nbytes for array in self._network.arrays().values())

    def _run(self) -> None:
        """Train from the current position to the end."""
        config = self._config
        for epoch, shard, batch, contexts, targets in batches(
            self._text, width=config.window, size=config.batch, epochs=config.epochs,
            seed=config.seed, start=self._position,
        ):  # fmt: skip
            if epoch > self._position.epoch:
                self._end_epoch()
            with defer_interrupts():
                self._step(epoch, shard, batch, contexts, targets)
            if time.monotonic() - self._saved > self._tuning.checkpoint_seconds:
                self._save()
        if self._position.epoch < config.epochs:
            self._end_epoch()

    def _step(
        self, epoch: int, shard: int, batch: int, contexts: np.ndarray, targets: np.ndarray
    ) -> None:
        """Predict the words of a batch and learn; update position, metrics and progress."""
        at = self._position
        rate = self._config.learning_rate * (1 - at.tokens / self._total)
        started = time.perf_counter()
        drawn = None if self._noise is None else self._noise.draw(at.step)
        loss = LossSum(self._network.learn(contexts, targets, rate, drawn), len(targets))
        seconds = time.perf_counter() - started
        enough = len(targets) >= _MIN_WORDS
        self._check(loss, 4 * math.log(len(self._text.words) + 1) if enough else math.inf)
        tokens = at.tokens + len(targets)
        self._position = Position(
            epoch=epoch, shard=shard, batch=batch + 1, step=at.step + 1, tokens=tokens,
            loss=at.loss + loss.loss, count=at.count + loss.pairs,
        )  # fmt: skip
        self._metrics.add(epoch, tokens, loss, rate, seconds)
        self._progress(tokens, self._total, self._metrics.detail)

    def _end_epoch(self) -> None:
        """Measure the held-out loss and move to the next epoch."""
        at = self._position
        by_unit = self._held_out_losses()
        # finite, but however high: that of a network that has learned the text by heart is
        self._check(sum(by_unit, start=LossSum(0.0, 0)), math.inf)
        if by_unit:
            units = np.array([(unit.loss, unit.pairs) for unit in by_unit], dtype=np.float64)
            write_unit_losses(self._directory, units.T)
        self._metrics.end_epoch(at.epoch, LossSum(at.loss, at.count), by_unit)
        self._position = Position(at.epoch + 1, step=at.step, tokens=at.tokens)

    def _held_out_losses(self) -> list[LossSum]:
        """Return the losses of the held-out words by unit of text, over the whole vocabulary."""
        text = self._held_out
        if text is None:
            return []
        starts, padding = unit_starts(text.offsets), len(self._text.words)
        losses = np.empty(len(text.rows))
        for first in range(0, len(losses), _EVALUATED):
            places = np.arange(first, min(first + _EVALUATED, len(losses)))
            before = windows(text.rows, starts, places, self._config.window, padding)
            losses[places] = self._network.losses(before, text.rows[places].astype(np.int64))
        bounds = text.offsets[text.bounds].tolist()
        return [
            LossSum(float(losses[first:stop].sum()), stop - first)
            for first, stop in itertools.pairwise(bounds)
        ]

    def _check(self, loss: LossSum, limit: float) -> None:
        """Raise if the mean loss is not a number below a limit."""
        if not loss.pairs or loss.mean < limit:
            return
        clear_checkpoints(self._directory / CHECKPOINTS)
        raise FirthError(
            f"training diverged after {self._position.tokens:,} tokens: the loss is "
            f"{loss.mean:.3g}; pass `learning_rate={self._config.learning_rate / 4:.2g}` or less"
        )

    def _save(self) -> None:
        """Write a checkpoint."""
        save_checkpoint(
            self._directory / CHECKPOINTS, self._network.arrays(),
            dataclasses.asdict(self._position),
        )  # fmt: skip
        self._saved = time.monotonic()

    def _load(self) -> Position:
        """Load the last checkpoint; return the start if there is none."""
        found = load_checkpoint(self._directory / CHECKPOINTS)
        if found is None:
            return Position()
        arrays, state = found
        self._network.load(arrays)
        return Position(**state)
