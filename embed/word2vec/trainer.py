"""The trainer: inputs and settings of one skip-gram or CBOW training run."""

import dataclasses
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from firth.corpora.common.threads import thread_count
from firth.corpora.store.corpus import Corpus
from firth.embed.vectors.training import require_contexts
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import (
    TUNING,
    Tuning,
    Word2VecConfig,
    default_epochs,
    default_subsample,
)
from firth.embed.word2vec.initial import init_fingerprint, open_init
from firth.embed.word2vec.kernel_settings import Rounds, choose_rounds, make_plan, spare_rows
from firth.embed.word2vec.kernels.rounds import Plan
from firth.embed.word2vec.noise import WHOLE, keep_limits
from firth.embed.word2vec.schedule import TextBatch, learning_rate
from firth.embed.word2vec.tables import Tables, make_tables, require_tables
from firth.embed.word2vec.training_text import TrainingText, open_text
from firth.embed.word2vec.workers import Workers

_PROGRAM = 140 << 20  # Python, NumPy, numba and compiled kernels
_BY_WORD = 250  # strings, counts, noise, places in rounds
_BY_TYPE = 40  # of the corpus: counts and rows of types
_BY_TOKEN = 12  # of a shard: it is prepared while the last one is held


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Inputs and settings of one training run."""

    corpus: Corpus
    config: Word2VecConfig  # ``epochs`` and ``subsample`` are numbers
    text: TrainingText
    init: WordVectors | None  # vectors to start from
    plan: Plan | None  # None for gensim
    rounds: Rounds | None  # of the deterministic mode; None for the fast one
    tuning: Tuning

    @property
    def epochs(self) -> int:
        """Passes over the text."""
        assert self.config.epochs is not None
        return self.config.epochs

    @cached_property
    def n_tokens(self) -> int:
        """Tokens of all epochs."""
        return self.text.n_tokens * self.epochs

    def rates(self, batch: TextBatch) -> list[float]:
        """Return the learning rates before each chunk of a batch and after the last."""
        first, last = self.config.learning_rate, self.config.final_rate
        done = (batch.tokens_before(c) for c in range(len(batch) + 1))
        return [learning_rate(first, last, tokens, self.n_tokens) for tokens in done]

    @property
    def threads(self) -> int:
        """Number of training threads."""
        return thread_count(self.config.threads)

    @cached_property
    def tables(self) -> Tables:
        """The tables to train, allocated at the first access."""
        assert self.plan is not None
        spare = spare_rows(self.plan, self.rounds)
        config = self.config
        return make_tables(
            self.text.words, config.dim, config.seed, self.init, config.ngrams, spare,
            memory=config.memory, besides=self._besides,
        )  # fmt: skip

    def allocate(self) -> None:
        """Allocate what is trained; raise if it exceeds the memory that was asked for."""
        if self.plan is not None:
            self.tables  # noqa: B018 - allocates them
            return
        config, n_words = self.config, len(self.text.words)
        needed = self._besides + 8 * config.dim * n_words
        require_tables(needed, n_words, config.dim, config.memory)

    @property
    def _besides(self) -> int:
        """The bytes that a training takes at most besides its tables; mapped files are none."""
        stored, init = self.text.view.stored, self.init
        text = _BY_TOKEN * max(len(shard.ids) for shard in stored.shards)
        threads = 4 * self.threads if self.config.ngrams else 0
        initial = 0 if init is None else init.matrix.nbytes + _BY_WORD * len(init.vocabulary)
        words = (_BY_WORD + threads) * len(self.text.words) + _BY_TYPE * len(stored.vocabulary)
        return _PROGRAM + text + initial + words

    def workers(self) -> closing[Workers]:
        """Start the training threads; they end with the context."""
        assert self.plan is not None
        return closing(Workers(
            self.tables, self.plan, self.threads, rounds=self.rounds, seed=self.config.seed,
            batch_chunks=self.tuning.batch_chunks,
        ))  # fmt: skip

    def resolved_options(self) -> dict[str, Any]:
        """Return options as this training resolves them: by its text, and a hash of ``init``."""
        init = None if self.init is None else init_fingerprint(self.init)
        return {"epochs": self.epochs, "subsample": self.config.subsample, "init": init}

    def with_seed(self, seed: int) -> "Trainer":
        """Return a trainer with another seed and the same text."""
        return dataclasses.replace(self, config=dataclasses.replace(self.config, seed=seed))


def build_trainer(corpus: Corpus, config: Word2VecConfig, tuning: Tuning = TUNING) -> Trainer:
    """Open the text and initial vectors; raise if they do not fit the options."""
    init = open_init(config)
    text = open_text(corpus, config, init)
    epochs, subsample = config.epochs or default_epochs(text.n_tokens), config.subsample
    if subsample is None:
        subsample = default_subsample(corpus.text.of_tokens)
    config = dataclasses.replace(config, epochs=epochs, subsample=subsample)
    keep = keep_limits(text.counts, subsample) / WHOLE if subsample else None
    require_contexts(text.view, corpus.path, keep=keep, subsample=subsample, passes=epochs)
    plan = None if config.engine == "gensim" else make_plan(text.counts, config)
    rounds = choose_rounds(text.counts, plan, tuning) if plan and config.deterministic else None
    return Trainer(
        corpus=corpus, config=config, text=text, init=init, plan=plan, rounds=rounds,
        tuning=tuning,
    )  # fmt: skip
