"""The gensim engine: the same words and text, trained by gensim's word2vec."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from corpora.common.reporting import Progress, note
from embed.word2vec.config import CbowConfig, SkipGramConfig, Word2VecConfig
from embed.word2vec.trainer import Trainer
from embed.word2vec.training_text import TrainingText

_LONGEST = 10_000  # words of a unit; gensim drops what is beyond


def train_gensim(trainer: Trainer, tell: Progress) -> tuple[np.ndarray, np.ndarray | None]:
    """Train with gensim's word2vec.

    Bit-identical with one thread and the same gensim.
    """
    # returns vectors: float32 (V, dim); returns contexts: float32 (V, dim) or None
    config, text = trainer.config, trainer.text
    n_cut = sum(int((np.diff(offsets) > _LONGEST).sum()) for _, offsets in text.shards())
    if n_cut:
        named = f"1 {config.boundary} is" if n_cut == 1 else f"{n_cut:,} {config.boundary}s are"
        note(f"{named} longer than gensim takes at a time, and cut at every {_LONGEST:,} words")
    model = _model(config, trainer.threads)
    # gensim takes any keys for words: ours are the rows
    model.build_vocab_from_freq(dict(enumerate(text.counts.tolist())))
    units = _Units(text)
    model.train(
        units,
        total_words=text.n_tokens,
        epochs=trainer.epochs,
        callbacks=[_epochs_told(tell, text.n_tokens, trainer.epochs)],
    )
    if units.error is not None:
        raise units.error
    return model.wv.vectors, None if config.hierarchical_softmax else model.syn1neg


class _Units:
    """The units of a text as lists of rows, as often as gensim asks for them.

    gensim reads them in a thread of its own and would wait for ever if that died, so an error
    ends the text and is kept.
    """

    def __init__(self, text: TrainingText) -> None:
        self._text = text
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[list[int]]:
        try:
            for rows, offsets in self._text.shards():
                words = rows.tolist()
                for first, last in pairwise(offsets.tolist()):
                    for start in range(first, last, _LONGEST):
                        yield words[start : min(start + _LONGEST, last)]
        except Exception as error:  # noqa: BLE001
            self.error = error


def _model(config: Word2VecConfig, threads: int) -> Any:
    """A model of gensim's, without words; those that it gets keep their order."""
    from gensim.models import Word2Vec

    return Word2Vec(
        vector_size=config.dim,
        window=config.window,
        shrink_windows=config.window_weighting == "dynamic",
        sg=int(isinstance(config, SkipGramConfig)),
        cbow_mean=int(not (isinstance(config, CbowConfig) and config.sum)),
        hs=int(config.hierarchical_softmax),
        negative=0 if config.hierarchical_softmax else config.negatives,
        ns_exponent=config.unigram_exponent,
        sample=_threshold(config),
        alpha=config.learning_rate,
        min_alpha=config.final_rate,
        epochs=config.epochs,
        seed=config.seed,
        workers=threads,
        min_count=1,  # the view has chosen
        sorted_vocab=0,
    )


def _threshold(config: Word2VecConfig) -> float:
    """The threshold of subsampling, for gensim; of those that drop no word, one that works.

    From 1 on it would be a count. At 0 gensim gives its random numbers no seed,
    unless it needs some for negative sampling; 0.5 drops nothing, for
    sqrt(t / f) + t / f >= 1 for every share f of the tokens.
    """
    if 0 < config.subsample < 1:
        return config.subsample
    return 0.5 if config.hierarchical_softmax else 0.0


def _epochs_told(tell: Progress, n_tokens: int, epochs: int) -> Any:
    """A callback of gensim's that tells of each epoch's end."""
    from gensim.models.callbacks import CallbackAny2Vec

    class Told(CallbackAny2Vec):  # type: ignore[misc] # gensim has no types
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += n_tokens
            tell(self.done, n_tokens * epochs)

    return Told()
