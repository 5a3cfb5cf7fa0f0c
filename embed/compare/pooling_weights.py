"""Weights that attention pooling gives to the words of a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.common.errors import SettingError
from corpora.common.reporting import Progress, no_progress, note
from corpora.text.segment import LONE_SURROGATE
from embed.compare.datasets.labeled_sentences import (
    LabeledSentences,
    read_training_parts,
)
from embed.compare.datasets.parts import TEST, TRAIN, Parts, split_names
from embed.compare.inputs.encoder_access import encoder_of
from embed.compare.inputs.long_sentences import long_sentence_note
from embed.compare.probes.examples import STATIC
from embed.compare.probes.one_thread import ONE_THREAD
from embed.compare.scoring.open_runs import open_runs
from embed.compare.tasks.sentences.items import SentenceSet
from embed.compare.tasks.sentences.pooling_probes import PooledSentences, pool_sentences


@dataclass(frozen=True, eq=False)
class WeightedSentence:
    """The pooling weights of one sentence, and its predicted label."""

    text: str  # as given
    words: list[str]  # as the run segments it; may be empty
    weights: np.ndarray  # float32 (n_words,): positive, sum 1
    unknown: np.ndarray  # bool (n_words,): words with a letter or digit but no vector
    probabilities: dict[str, float]  # by label

    @property
    def label(self) -> str:
        """The most likely label."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    def to_json(self) -> dict[str, Any]:
        """Return the sentence as JSON."""
        words = zip(self.words, self.weights.tolist(), self.unknown.tolist(), strict=True)
        return {
            "sentence": self.text,
            "label": self.label,
            "probabilities": self.probabilities,
            "words": [{"word": w, "weight": a, "known": not u} for w, a, u in words],
        }


def pooling_weights(
    run: str, texts: Sequence[str], on: str, seed: int = 1, progress: Progress = no_progress
) -> list[WeightedSentence]:
    """Train attention pooling on labeled sentences; return its weights for other sentences.

    ``on`` names the files TRAIN or TRAIN,DEV. Notes report the accuracy on the development part,
    problems of the files, and sentences that an encoder reads in several windows.
    """
    names = split_names(on)
    if len(names) > 2 or not all(names):
        raise SettingError(f"`on={on!r}`: expected 1 or 2 files; pass TRAIN or TRAIN,DEV")
    paths = [Path(name) for name in names]
    for text in texts:
        if not text.strip() or LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is not a sentence; pass words in UTF-8")
    train, dev = read_training_parts(paths)
    unlabeled = LabeledSentences(tuple(texts), ("",) * len(texts))
    sentences = SentenceSet(Parts(paths[0].name, train, unlabeled, dev), seed)
    [(name, vectors)] = open_runs([run]).vectors.items()
    note(
        f"{name}: learning {len(sentences.classes):,} labels from "
        f"{len(sentences.places(TRAIN)):,} sentences of {paths[0]}"
    )
    for line in sentences.training_notes():
        note(f"{paths[0].name}: {line}")
    with ONE_THREAD:
        pooled = pool_sentences(vectors, sentences, progress)
        if (encoder := encoder_of(vectors)) and (long := long_sentence_note(encoder, pooled.words)):
            note(f"{name}: {long}")
        probe = pooled.train_attention(sentences)
        layer = "" if pooled.source == STATIC else f"by {pooled.source}, "
        note(f"{name}: {layer}accuracy {probe.accuracy:.1%} on the development part")
        bags = pooled.labeled(sentences, TEST).bags
        weights, probabilities = probe.network.weights(bags), probe.network.probabilities(bags)
    return list(_weighted_sentences(pooled, sentences, weights, probabilities))


def _weighted_sentences(
    pooled: PooledSentences,
    sentences: SentenceSet,
    weights: np.ndarray,
    probabilities: np.ndarray,
) -> Iterator[WeightedSentence]:
    """Split weights and probabilities into the test sentences."""
    places, offsets = sentences.places(TEST), pooled.inputs.bags.offsets
    unknown, start = pooled.inputs.zero[offsets[places[0]] :], 0
    for place, of_labels in zip(places.tolist(), probabilities.tolist(), strict=True):
        words = list(pooled.words[place])
        stop = start + len(words)
        by_label = dict(zip(sentences.classes, of_labels, strict=True))
        yield WeightedSentence(
            sentences.texts[place], words, weights[start:stop], unknown[start:stop], by_label
        )
        start = stop
