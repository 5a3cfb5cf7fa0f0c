"""What is learnt of a set of sentences: from means of words, and which layer serves best."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corpora.common.reporting import Progress, no_progress
from embed.compare.datasets.parts import DEV, TRAIN
from embed.compare.inputs.encoder_access import encoder_of
from embed.compare.probes.attention_pooling import LabeledBags, TrainedAttention, train_attention
from embed.compare.probes.examples import STATIC, layer_source, standardized
from embed.compare.tasks.sentences.inputs import (
    SentenceInputs,
    cut_sentence,
    mean_pooled,
    state_means,
    state_sentences,
    static_sentences,
)
from embed.compare.tasks.sentences.items import SentenceSet
from embed.protocols import StaticVectors

MEAN_DECAYS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of the mean loss: each starts the next
_ITERATIONS = 1_000
_SLOPE = 1e-7  # largest at an optimum: under a weak decay a steeper one is no optimum yet


@dataclass(frozen=True, eq=False)
class MeanProbe:
    """What a linear probe answers that sees the mean of the words of each sentence."""

    answers: np.ndarray  # int64 (n_sentences,): the label of every sentence of the set
    accuracy: float  # on the development part
    decay: float  # the weight decay that is best there


@dataclass(frozen=True, eq=False)
class PooledSentences:
    """What vectors show of a set of sentences."""

    source: str  # ``static``, or the layer whose means are best on the development part
    means: Mapping[str, MeanProbe]  # by source: of every source that was tried
    words: Sequence[Sequence[str]]  # each sentence, cut
    inputs: SentenceInputs  # of ``source``, standardized by the words of the training part

    def labeled(self, sentences: SentenceSet, role: int) -> LabeledBags:
        """Give the sentences of one role."""
        places = sentences.places(role)
        return LabeledBags(self.inputs.bags.take(places), sentences.labels[places])

    def attention(self, sentences: SentenceSet, *, margin: bool = False) -> TrainedAttention:
        """Learn attention pooling."""
        train, dev = (self.labeled(sentences, role) for role in (TRAIN, DEV))
        return train_attention(
            self.inputs.table, train, dev, len(sentences.classes), sentences.seed, margin=margin
        )


def pool_sentences(
    vectors: StaticVectors,
    sentences: SentenceSet,
    progress: Progress = no_progress,
    *,
    static_too: bool = False,
) -> PooledSentences:
    """Look sentences up, and learn from the means of their words."""
    progress(0)
    encoder, means = encoder_of(vectors), {}
    if encoder is None or static_too:
        words = [cut_sentence(vectors.words, text, as_written=True) for text in sentences.texts]
        inputs = static_sentences(vectors, words)
        means[STATIC] = train_mean_probe(mean_pooled(inputs), sentences)
    source = STATIC
    if encoder is not None:
        words = [cut_sentence(encoder.words, text) for text in sentences.texts]
        for layer in range(encoder.n_layers + 1):
            means[layer_source(layer)] = train_mean_probe(
                state_means(encoder, words, layer), sentences
            )
            progress(layer + 1, encoder.n_layers + 2)
        best = max(range(encoder.n_layers + 1), key=lambda each: means[layer_source(each)].accuracy)
        source, inputs = layer_source(best), state_sentences(encoder, words, best)
    learning = inputs.bags.take(sentences.places(TRAIN)).rows
    if len(learning):
        inputs = replace(inputs, table=standardized(inputs.table, learning))
    return PooledSentences(source, means, words, inputs)


def train_mean_probe(table: Any, sentences: SentenceSet) -> MeanProbe:
    """Learn a multinomial logistic regression, which has one optimum: no seed has a part in it."""
    # table: float32 (n_sentences, D) or scipy.sparse CSR (n_sentences, D)
    train, dev = (sentences.places(role) for role in (TRAIN, DEV))
    table, labels = standardized(table, train), sentences.labels
    best: MeanProbe | None = None
    for decay, answers in _regressions(table, table[train], labels[train]):
        accuracy = float((answers[dev] == labels[dev]).mean())
        if best is None or accuracy > best.accuracy:
            best = MeanProbe(answers, accuracy, decay)
    assert best is not None
    return best


def _regressions(table: Any, train: Any, labels: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Each decay, and what is answered with it."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(tol=_SLOPE, max_iter=_ITERATIONS, warm_start=True)
    for decay in MEAN_DECAYS:
        model.set_params(C=1 / (decay * len(labels)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for what it decides
            model.fit(train, labels)
        yield decay, np.asarray(model.predict(table), dtype=np.int64)
