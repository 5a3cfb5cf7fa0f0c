"""Train on the same words and text with gensim's word2vec."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.common.reporting import Progress, note, progress
from firth.embed.vectors.word_vectors import CONTEXTS, WordVectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, Word2VecConfig
from firth.embed.word2vec.trainer import Trainer
from firth.embed.word2vec.training_text import TrainingText

_MAX_UNIT_WORDS = 10_000  # gensim drops the rest of a longer unit


def train_gensim(trainer: Trainer, run: Path) -> None:
    """Train with gensim, bit-identical with one thread; write word and context vectors."""
    config, text = trainer.config, trainer.text
    n_cut = sum(int((np.diff(offsets) > _MAX_UNIT_WORDS).sum()) for _, offsets in text.shards())
    if n_cut:
        units = f"1 {config.boundary} is" if n_cut == 1 else f"{n_cut:,} {config.boundary}s are"
        note(f"{units} longer than gensim's limit, so split every {_MAX_UNIT_WORDS:,} words")
    model = _model(config, trainer.threads)
    # gensim accepts any keys as words; row numbers are used here
    model.build_vocab_from_freq(dict(enumerate(text.counts.tolist())))
    sentences = _Sentences(text)
    with progress("training", "tokens") as show:
        model.train(
            sentences,
            total_words=text.n_tokens,
            epochs=trainer.epochs,
            callbacks=[_progress_callback(show, text.n_tokens, trainer.epochs)],
        )
    if sentences.error is not None:
        raise sentences.error
    WordVectors(text.words, model.wv.vectors, counts=text.counts).write(run)
    save_array(run / CONTEXTS, model.syn1neg)


class _Sentences:
    """Iterates over the units of a text as lists of rows, once per epoch.

    gensim reads in a thread of its own and would hang if that thread died, so an error ends the
    iteration and is kept in ``error``.
    """

    def __init__(self, text: TrainingText) -> None:
        self._text = text
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[list[int]]:
        try:
            for rows, offsets in self._text.shards():
                for first, last in pairwise(offsets.tolist()):
                    for start in range(first, last, _MAX_UNIT_WORDS):
                        yield rows[start : min(start + _MAX_UNIT_WORDS, last)].tolist()
        except Exception as error:  # noqa: BLE001
            self.error = error


def _model(config: Word2VecConfig, threads: int) -> Any:
    """Return a gensim model without vocabulary, which will keep the order of its words."""
    from gensim.models import Word2Vec

    subsample = config.subsample or 0.0
    return Word2Vec(
        vector_size=config.dim,
        window=config.window,
        shrink_windows=config.window_weighting == "dynamic",
        sg=int(isinstance(config, SkipGramConfig)),
        cbow_mean=int(not (isinstance(config, CbowConfig) and config.combine == "sum")),
        negative=config.negatives,
        ns_exponent=config.unigram_exponent,
        sample=subsample if subsample < 1 else 0.0,  # it reads 1 and more as counts
        alpha=config.learning_rate,
        min_alpha=config.final_rate,
        epochs=config.epochs,
        seed=config.seed,
        workers=threads,
        min_count=1,  # the view has applied ``min_count``
        sorted_vocab=0,
    )


def _progress_callback(progress: Progress, n_tokens: int, epochs: int) -> Any:
    """Return a gensim callback that reports progress at the end of each epoch."""
    from gensim.models.callbacks import CallbackAny2Vec

    class ReportProgress(CallbackAny2Vec):  # type: ignore[misc] # gensim has no types
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += n_tokens
            progress(self.done, n_tokens * epochs)

    return ReportProgress()
