"""The trainer: all that one training of skip-gram or CBOW needs, made of a corpus and options."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corpora.common.threads import thread_count
from corpora.store.corpus import Corpus
from embed.vectors.word_vectors import WordVectors
from embed.word2vec.config import TUNING, Tuning, Word2VecConfig
from embed.word2vec.initial import init_fingerprint, open_init
from embed.word2vec.kernel_settings import Rounds, choose_rounds, make_plan, spare_rows
from embed.word2vec.kernels.rounds import Plan
from embed.word2vec.tables import Tables, make_tables
from embed.word2vec.training_text import TrainingText, open_text
from embed.word2vec.workers import Workers

_EPOCHS, _FEW_TOKENS, _EPOCHS_OF_FEW = 5, 4_000_000, 20


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """What one training reads, what it starts from, and how it is done."""

    corpus: Corpus  # where the text is
    config: Word2VecConfig  # every option; ``epochs`` is a number
    text: TrainingText  # words, counts and tokens
    init: WordVectors | None  # the vectors to start from
    plan: Plan | None  # how our kernels learn; None for gensim
    rounds: Rounds | None  # of the deterministic mode; None for the fast one
    tuning: Tuning  # sizes and intervals

    @property
    def epochs(self) -> int:
        """Times through the text."""
        assert self.config.epochs is not None
        return self.config.epochs

    @property
    def threads(self) -> int:
        """Threads that train."""
        return thread_count(self.config.threads)

    @cached_property
    def tables(self) -> Tables:
        """The tables to train, which take memory from the first time on."""
        assert self.plan is not None
        spare = spare_rows(self.plan, self.rounds)
        config = self.config
        return make_tables(
            self.text.words, config.dim, config.seed, self.init, config.ngrams, spare
        )

    @contextmanager
    def workers(self) -> Iterator[Workers]:
        """Start the threads that train the tables; they end with the context."""
        assert self.plan is not None
        workers = Workers(
            self.tables, self.plan, self.threads, rounds=self.rounds, seed=self.config.seed,
            batch_chunks=self.tuning.batch_chunks,
        )  # fmt: skip
        try:
            yield workers
        finally:
            workers.close()

    def chosen(self) -> dict[str, Any]:
        """What the training makes of options that name or leave open something."""
        init = None if self.init is None else init_fingerprint(self.init)
        return {"epochs": self.epochs, "init": init}

    def with_seed(self, seed: int) -> "Trainer":
        """Make the trainer of another seed, with the same text."""
        return dataclasses.replace(self, config=dataclasses.replace(self.config, seed=seed))


def build_trainer(corpus: Corpus, config: Word2VecConfig, tuning: Tuning = TUNING) -> Trainer:
    """Open what a training needs and refuse what cannot be trained; nothing is trained yet."""
    init = open_init(config)
    text = open_text(corpus, config, init)
    epochs = settled_epochs(config, text.n_tokens)
    plan = None if config.engine == "gensim" else make_plan(text.counts, config)
    rounds = choose_rounds(text.counts, plan, tuning) if plan and config.deterministic else None
    return Trainer(
        corpus=corpus, config=dataclasses.replace(config, epochs=epochs), text=text, init=init,
        plan=plan, rounds=rounds, tuning=tuning,
    )  # fmt: skip


def settled_epochs(config: Word2VecConfig, n_tokens: int) -> int:
    """Tell how many epochs a training takes."""
    if config.epochs is not None:
        return config.epochs
    return _EPOCHS_OF_FEW if n_tokens < _FEW_TOKENS else _EPOCHS
