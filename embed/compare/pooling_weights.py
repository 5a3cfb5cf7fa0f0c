"""Weights that attention pooling gives to the words of a sentence."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.text.segment import LONE_SURROGATE
from firth.embed.compare.config import HIERARCHICAL
from firth.embed.compare.datasets.fields import fallback_encoding
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences, read_training_parts
from firth.embed.compare.datasets.parts import TEST, TRAIN, Parts
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.probes.examples import STATIC
from firth.embed.compare.scoring.open_runs import open_runs
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.compare.tasks.sentences.pooling_probes import pool_sentences
from firth.embed.vectors.one_thread import ONE_THREAD


@dataclass(frozen=True, eq=False)
class WeightedSentence:
    """The pooling weights of one sentence, and its predicted label."""

    text: str  # as given
    words: list[str]  # as the run segments it; may be empty
    weights: np.ndarray  # float32 (n_words,): positive, sum 1
    # int64 (n_words,): the sentence of each word, 0 unless learned from texts of several sentences
    sentences: np.ndarray
    unknown: np.ndarray  # bool (n_words,): words with a letter or digit but no vector
    probabilities: dict[str, float]  # by label

    @property
    def label(self) -> str:
        """The most likely label."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def sentence_weights(self) -> np.ndarray:
        """The weight of each sentence of the text, float64 (n,), sum 1."""
        return np.bincount(self.sentences, self.weights)

    def to_json(self) -> dict[str, Any]:
        """Return the sentence as JSON."""
        columns = (self.weights.tolist(), self.unknown.tolist(), self.sentences.tolist())
        words = zip(self.words, *columns, strict=True)
        return {
            "sentence": self.text,
            "label": self.label,
            "probabilities": self.probabilities,
            "sentences": self.sentence_weights.tolist(),
            "words": [
                {"word": w, "weight": a, "known": not u, "sentence": s} for w, a, u, s in words
            ],
        }


def pooling_weights(
    run: str | os.PathLike[str],
    texts: Sequence[str],
    train: str | Path,
    dev: str | Path | None = None,
    *,
    seed: int = 1,
    encoding: str = "",
) -> list[WeightedSentence]:
    """Train attention pooling on labeled sentences; return its weights for other sentences.

    A sentence is the weighted mean of its words' vectors, or of their states if the run has an
    encoder; its label is predicted from that. If the texts of ``train`` have two sentences or more
    on average, words are weighted in their sentences and sentences in their texts (Yang et al.
    2016). These weights say how much each word contributes
    to the label; the attention inside an encoder is what :func:`firth.attend` returns. Notes
    report the accuracy on the development part, problems of the files, and sentences that an
    encoder reads in several windows. The same seed gives the same weights.

    Parameters
    ----------
    run : str or path
        A run, a vectors file or a Hugging Face folder.
    texts : sequence of str
        Sentences to weight.
    train : str or Path
        File of labeled sentences to learn from, as ``firth compare`` takes it.
    dev : str or Path, optional
        File of labeled sentences to tune on; by default a part of ``train``.
    seed : int
        Seed of the training.
    encoding : str
        Encoding of files that are not UTF-8, such as ``latin-1``.

    Returns
    -------
    list of WeightedSentence
        One per text: ``words``, ``weights`` float32 (n_words,) with sum 1, the sentence of each
        word in ``sentences`` int64 (n_words,), ``sentence_weights``, ``label`` and
        ``probabilities``.

    Raises
    ------
    ArtifactError
        If the run is missing or damaged.
    SourceError
        If a file cannot be read.
    SettingError
        If a text has no words.
    """
    paths = [Path(train), *([] if dev is None else [Path(dev)])]
    for text in texts:
        if not text.strip() or LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is not a sentence; pass words in UTF-8")
    with fallback_encoding(encoding):
        labeled, labeled_dev = read_training_parts(paths)
    unlabeled = LabeledSentences(tuple(texts), ("",) * len(texts))
    sentences = SentenceSet(Parts(paths[0].name, labeled, unlabeled, labeled_dev), seed)
    [(name, vectors)] = open_runs([run]).vectors.items()
    note(
        f"{name}: learning {len(sentences.classes):,} labels from "
        f"{len(sentences.places(TRAIN)):,} sentences of {paths[0]}"
    )
    for line in sentences.training_notes():
        note(f"{paths[0].name}: {line}")
    with ONE_THREAD, progress("encoding", "layers") as show:
        [(_, pooled)] = pool_sentences(vectors, [sentences], show)
        if (encoder := encoder_of(vectors)) and (long := long_sentence_note(encoder, pooled.words)):
            note(f"{name}: {long}")
        pooling = HIERARCHICAL if sentences.several else "attention"
        probe = pooled.train_attention(sentences, pooling)
        layer = "" if pooled.source == STATIC else f"by {pooled.source}, "
        note(f"{name}: {layer}accuracy {probe.accuracy:.1%} on the development part")
        bags = pooled.labeled(sentences, TEST).bags
        assert bags.sentences is not None
        weights, probabilities = probe.network.weights(bags), probe.network.probabilities(bags)
    places = sentences.places(TEST).tolist()
    words = [list(pooled.words[place]) for place in places]
    stops = np.cumsum([0, *map(len, words)]).tolist()
    unknown = pooled.inputs.zero[pooled.inputs.bags.offsets[places[0]] :]
    return [
        WeightedSentence(
            sentences.texts[place],
            own,
            weights[start:stop],
            bags.sentences[start:stop],
            unknown[start:stop],
            dict(zip(sentences.classes, by_label, strict=True)),
        )
        for place, own, (start, stop), by_label in zip(
            places, words, pairwise(stops), probabilities.tolist(), strict=True
        )
    ]
