"""Probes on mean-pooled sentences, and the choice of the best layer."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.compare.config import HIERARCHICAL
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.probes.attention_pooling import (
    LabeledBags,
    TrainedAttention,
    train_attention,
)
from firth.embed.compare.probes.examples import STATIC, input_sources, standardized
from firth.embed.compare.probes.progress import share, steps
from firth.embed.compare.tasks.sentences.inputs import (
    SentenceInputs,
    mean_pool,
    state_means,
    state_sentences,
    static_sentences,
    words_looked_up,
    words_of_sentences,
    words_read,
)
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.protocols import StaticVectors

# relative to the mean loss; each starts from the last
MEAN_DECAYS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_ITERATIONS = 1_000
Read = tuple[list[list[str]], np.ndarray]  # words of texts; the sentence of each, int64 (n_words,)
_SLOPE = 1e-7  # tolerated gradient; with weak decay a larger one is not converged


@dataclass(frozen=True, eq=False)
class MeanProbe:
    """A linear probe on the mean vector of each sentence."""

    scores: np.ndarray  # float32 (n_test, L): log probabilities up to a constant for each sentence
    accuracy: float  # on the development part
    decay: float  # the best weight decay

    @property
    def predictions(self) -> np.ndarray:
        """The likeliest class of each sentence of the test part, int64 (n_test,)."""
        return np.asarray(self.scores.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class PooledSentences:
    """The sentences of a set as a run sees them, with probes on their means."""

    source: str  # ``static``, or the layer best on the development part
    means: Mapping[str, MeanProbe]  # by source, for every source tried
    words: Sequence[Sequence[str]]  # of each sentence
    inputs: SentenceInputs  # of ``source``, standardized over the training part

    def labeled(self, sentences: SentenceSet, role: int) -> LabeledBags:
        """Return the sentences of one role with their labels."""
        places = sentences.places(role)
        return LabeledBags(self.inputs.bags.take(places), sentences.labels[places])

    def train_attention(self, sentences: SentenceSet, pooling: str) -> TrainedAttention:
        """Train attention pooling on ``source``."""
        train, dev = (self.labeled(sentences, role) for role in (TRAIN, DEV))
        return train_attention(
            self.inputs.table,
            train,
            dev,
            len(sentences.classes),
            sentences.seed,
            margin=pooling == "margin",
            levels=1 + (pooling == HIERARCHICAL),
        )


def pool_sentences(
    vectors: StaticVectors,
    folds: Sequence[SentenceSet],
    progress: Progress = no_progress,
    *,
    static_too: bool = False,
) -> Iterator[tuple[SentenceSet, PooledSentences]]:
    """Encode sentences, train a probe on the means of each source, and yield every fold.

    Only means of layers are kept; the best layer is encoded again. With ``static_too`` the static
    vectors of an encoder are also tried, but never chosen.
    """
    encoder, texts = encoder_of(vectors), folds[0].sentences
    read: Read = [], np.zeros(0, np.int64)
    if encoder is not None:
        read = _words(partial(words_read, encoder), texts)
    look_up = lru_cache(maxsize=1)(partial(_look_up, vectors, texts, read))
    tried = input_sources(encoder, static_too=static_too)
    means: list[dict[str, MeanProbe]] = [{} for _ in folds]
    progress(0)
    with share(0, 0.4):
        for number, (source, layer) in enumerate(steps(list(tried.items())), start=1):
            if encoder is None or layer is None:
                table = mean_pool(look_up(STATIC)[1])
            else:
                table = state_means(encoder, read[0], [layer])
            for of_fold, fold in steps(list(zip(means, folds, strict=True))):
                of_fold[source] = train_mean_probe(table, fold)
            progress(number, len(tried) + 1)
    sources = [_best_source(of_fold) for of_fold in means]
    with share(0.4, 1):
        for number in steps(sorted(range(len(folds)), key=sources.__getitem__)):
            fold, source = folds[number], sources[number]
            words, inputs = look_up(source)
            learning, table = inputs.bags.take(fold.places(TRAIN)).rows, inputs.table
            if len(learning):
                table = standardized(table if len(folds) == 1 else table.copy(), learning)
            yield fold, PooledSentences(source, means[number], words, replace(inputs, table=table))


def _best_source(means: Mapping[str, MeanProbe]) -> str:
    """Return the layer best on the development part; the static vectors if there is none."""
    layers = [source for source in means if source != STATIC]
    return max(layers, key=lambda source: means[source].accuracy, default=STATIC)


def _words(cut: Callable[[str], list[str]], texts: Sequence[Sequence[str]]) -> Read:
    """Return the words of each text, and the sentence of each word."""
    words, numbers = zip(*(words_of_sentences(cut, text) for text in texts), strict=True)
    return list(words), np.concatenate(numbers)


def _look_up(
    vectors: StaticVectors, texts: Sequence[Sequence[str]], read: Read, source: str
) -> tuple[list[list[str]], SentenceInputs]:
    """Return the words of texts, and their inputs from one source."""
    encoder = encoder_of(vectors)
    layer = input_sources(encoder, static_too=True)[source]
    if encoder is None or layer is None:
        words, numbers = _words(partial(words_looked_up, vectors), texts)
        inputs = static_sentences(vectors, words)
    else:
        words, numbers = read
        inputs = state_sentences(encoder, words, layer)
    return words, replace(inputs, bags=replace(inputs.bags, sentences=numbers))


def train_mean_probe(table: Any, sentences: SentenceSet) -> MeanProbe:
    """Train multinomial logistic regressions; keep the most accurate, strongest decay."""
    # table: float32 (n_sentences, D) or scipy.sparse CSR (n_sentences, D)
    train, dev, test = (sentences.places(role) for role in (TRAIN, DEV, TEST))
    table, labels = standardized(table.copy(), train), sentences.labels
    tried = [
        MeanProbe(scores[test], float((scores[dev].argmax(axis=1) == labels[dev]).mean()), decay)
        for decay, scores in _regressions(table, table[train], labels[train])
    ]
    return max(tried, key=lambda probe: probe.accuracy)


def _regressions(table: Any, train: Any, labels: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield each decay with the scores of all sentences, float32 (n_sentences, L)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(tol=_SLOPE, max_iter=_ITERATIONS, warm_start=True)
    for decay in steps(MEAN_DECAYS):
        model.set_params(C=1 / (decay * len(labels)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # precise enough to choose by
            model.fit(train, labels)
        scores = model.decision_function(table)  # of two classes, of the second alone
        yield decay, scores if scores.ndim > 1 else np.stack([np.zeros_like(scores), scores], 1)
