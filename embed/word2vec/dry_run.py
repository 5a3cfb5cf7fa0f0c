"""Estimate what skip-gram and CBOW take, by training for some seconds with the real tables."""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.console import human
from firth.corpora.common.errors import SettingError
from firth.corpora.common.estimate import Estimate
from firth.embed.vectors.wordlist import word_lines
from firth.embed.word2vec.loop import held_out_batch
from firth.embed.word2vec.memory import memory_of, require_memory, training_size
from firth.embed.word2vec.schedule import batches
from firth.embed.word2vec.trainer import Trainer
from firth.embed.word2vec.training_text import TrainingText

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

_ABOUT = 3_500  # bytes of the settings, provenance, metrics and checksums of a run
LINE_SECONDS, _LINE_BYTES = 2.0, 150  # of metrics.jsonl


def estimate_word2vec(trainer: Trainer) -> Estimate:
    """Estimate the cost of a training; the tables are trained for a moment and discarded.

    Raises SettingError for gensim, whose speed cannot be measured in parts.
    """
    config, text = trainer.config, trainer.text
    if config.engine == "gensim":
        raise SettingError("`engine=gensim` has no `dry_run=True`; pass `engine=firth`")
    require_memory(text, config, trainer.init)
    started = time.perf_counter()
    trainer.tables  # noqa: B018 - allocates them
    allocating = time.perf_counter() - started
    measured, tokens, others = _train_a_moment(trainer)
    work = text.n_tokens * trainer.epochs
    seconds = allocating + work * measured / tokens + others
    size = training_size(text, config)
    rows = 2 * size.words + (size.words + size.buckets if config.ngrams else 0)
    lines = seconds / LINE_SECONDS + trainer.epochs
    return Estimate(
        disk=4 * config.dim * rows + 8 * size.buckets + bytes_about(trainer.corpus, text, lines),
        temporary=room_for_checkpoints(
            sum(table.nbytes for table in trainer.tables.arrays().values())
        ),
        memory=memory_of(text, config, trainer.init),
        seconds=seconds,
        sizes={
            "words": size.words, "dim": config.dim, "epochs": trainer.epochs, "tokens": work,
            "tokens_per_second": round(tokens / measured), "threads": trainer.threads,
        },
        reckoned_from=(
            f"{human(tokens)} of {human(work)} tokens, trained with the real tables in "
            f"{measured:.1f} s"
        ),
    )  # fmt: skip


def bytes_about(corpus: "Corpus", text: TrainingText, lines: float) -> int:
    """Return the bytes of a run besides its vectors, with so many lines of metrics."""
    losses = 16 * (corpus.held_out_units + 1)
    return len(word_lines(text.words, text.counts)) + losses + int(lines) * _LINE_BYTES + _ABOUT


def _train_a_moment(trainer: Trainer) -> tuple[float, int, float]:
    """Return seconds and tokens of some training, and the seconds of all that is not training.

    That is loading kernels with the first batch, and the held-out loss after each epoch.
    """
    text, tuning = trainer.text, trainer.tuning
    with trainer.workers() as workers:

        def steps() -> Iterator[int]:
            for batch in batches(text, 0, workers.batch_size, 0, tuning.chunk_tokens):
                workers.train(batch, trainer.rates(batch))
                yield batch.n_tokens

        trained, n_tokens, loading = time_steps(steps())
        held_out, started = held_out_batch(text, tuning), time.perf_counter()
        if held_out:
            workers.losses_of(held_out)
        measuring = time.perf_counter() - started
    return trained, n_tokens, loading + trainer.epochs * measuring


def time_steps(steps: Iterable[int], least: float = 4.0) -> tuple[float, int, float]:
    """Take steps, which return their tokens, for some seconds; return these seconds and tokens.

    They are those after the first step. The third value is for how long that one took longer.
    """
    seconds, tokens, started = [], [], time.perf_counter()
    for n_tokens in steps:
        seconds.append(time.perf_counter() - started)
        tokens.append(n_tokens)
        if sum(seconds[1:]) > least:
            break
        started = time.perf_counter()
    if len(seconds) == 1:
        return seconds[0], tokens[0], 0.0
    trained, n_trained = sum(seconds[1:]), sum(tokens[1:])
    return trained, n_trained, max(0.0, seconds[0] - tokens[0] * trained / n_trained)
