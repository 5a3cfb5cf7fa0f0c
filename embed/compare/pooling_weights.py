"""What each word of a sentence weighs, where weights are learnt for telling labels."""

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
    """The weights of the words of one sentence, and the label that is told by them."""

    text: str  # as it was given
    words: list[str]  # as the run cuts it; perhaps none
    weights: np.ndarray  # float32 (n_words,): positive; they sum to 1
    unknown: np.ndarray  # bool (n_words,): words with a letter or digit that have no vector
    probabilities: dict[str, float]  # by label

    @property
    def label(self) -> str:
        """The most likely label."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it."""
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
    """Learn attention pooling from labeled sentences, and weigh the words of others by it.

    What was learnt, and how good it is on the development part, is told; so is what of the files
    is not as it should be, and how many sentences an encoder reads in parts.
    """
    names = split_names(on)
    if len(names) > 2 or not all(names):
        raise SettingError(f"`on={on!r}` names no one or two files; pass TRAIN or TRAIN,DEV")
    paths = [Path(name) for name in names]
    for text in texts:
        if not text.strip() or LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is no sentence; pass words in UTF-8")
    train, dev = read_training_parts(paths)
    asked = LabeledSentences(tuple(texts), ("",) * len(texts))
    sentences = SentenceSet(Parts(paths[0].name, train, asked, dev), seed)
    [(name, vectors)] = open_runs([run]).vectors.items()
    note(
        f"{name}: learning {len(sentences.classes):,} labels from "
        f"{len(sentences.places(TRAIN)):,} sentences of {paths[0]}"
    )
    for remark in sentences.training_notes():
        note(f"{paths[0].name}: {remark}")
    with ONE_THREAD:
        seen = pool_sentences(vectors, sentences, progress)
        if (encoder := encoder_of(vectors)) and (long := long_sentence_note(encoder, seen.words)):
            note(f"{name}: {long}")
        learnt = seen.attention(sentences)
        layer = "" if seen.source == STATIC else f"by {seen.source}, "
        note(f"{name}: {layer}right on {learnt.accuracy:.1%} of the development part")
        bags = seen.labeled(sentences, TEST).bags
        weights, likely = learnt.network.weights(bags), learnt.network.probabilities(bags)
    return list(_attended(seen, sentences, weights, likely))


def _attended(
    seen: PooledSentences, sentences: SentenceSet, weights: np.ndarray, likely: np.ndarray
) -> Iterator[WeightedSentence]:
    """Each sentence that was asked."""
    places, offsets = sentences.places(TEST), seen.inputs.bags.offsets
    unknown, start = seen.inputs.zero[offsets[places[0]] :], 0
    for place, probabilities in zip(places.tolist(), likely.tolist(), strict=True):
        words = list(seen.words[place])
        stop = start + len(words)
        by_label = dict(zip(sentences.classes, probabilities, strict=True))
        yield WeightedSentence(
            sentences.texts[place], words, weights[start:stop], unknown[start:stop], by_label
        )
        start = stop
