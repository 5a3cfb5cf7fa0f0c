"""Labeling sentences: what can be read off pooled vectors, by the mean or by learnt weights?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import thread_time

import numpy as np

from corpora.common.reporting import note
from embed.compare.config import CompareConfig
from embed.compare.datasets.labeled_sentences import read_sentence_parts
from embed.compare.datasets.parts import TEST, TRAIN
from embed.compare.inputs.encoder_access import encoder_of
from embed.compare.inputs.long_sentences import long_sentence_note
from embed.compare.probes.attention_pooling import TrainedAttention
from embed.compare.probes.examples import source_note
from embed.compare.probes.one_thread import ONE_THREAD
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement
from embed.compare.tasks.sentences.items import SentenceSet
from embed.compare.tasks.sentences.pooling_probes import PooledSentences, pool_sentences
from embed.compare.tasks.tagging.inputs import likely_parts
from embed.protocols import StaticVectors


@dataclass(frozen=True, eq=False)
class SentencesTask:
    """Sentences with a label each; an item is a sentence of the test part.

    Every run is asked every sentence. Runs with an encoder are asked by the states of the layer
    that is best on the development part, others by their vectors. What labels are told by is
    learnt from the training part; what is to be chosen is chosen on the development part.
    """

    dataset: str  # name of the set
    sentences: SentenceSet  # the set
    layers: bool  # whether each layer of an encoder is scored, too, and its static vectors

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SentencesTask":
        """Read the parts of a set."""
        parts = read_sentence_parts(str(path))
        sentences = SentenceSet(parts, config.seed)
        for text in (*sentences.training_notes(), *sentences.test_notes()):
            note(f"{parts.name}: {text}")
        return cls(parts.name, sentences, config.sections)

    def __repr__(self) -> str:
        """Name all that answers depend on."""
        return f"SentencesTask({self.dataset!r}, {self.sentences.fingerprint()}, {self.layers})"

    @property
    def n_items(self) -> int:
        """How many sentences the test part has."""
        return self.sentences.parts.test.n_sentences

    def texts(self) -> Iterable[str]:
        """List what stands between white space, and what that may be cut into."""
        tokens = dict.fromkeys(token for text in self.sentences.texts for token in text.split())
        return list(dict.fromkeys(t for token in tokens for t in (token, *likely_parts(token))))

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of each sentence of the test part."""
        cut = [text.split() for text in self.sentences.parts.test.texts]
        return [[t for t in tokens if any(map(str.isalnum, t))] or tokens for tokens in cut]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell that every sentence can be asked."""
        # returns bool (n_items,)
        return np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Learn from the training part, and score the test part. The time that it took is told."""
        # items: bool (n_items,)
        started, sentences = thread_time(), self.sentences
        with ONE_THREAD:
            seen = pool_sentences(vectors, sentences, static_too=self.layers)
            softmax = seen.attention(sentences)
            margin = seen.attention(sentences, margin=True)
            asked = seen.labeled(sentences, TEST).bags
            answers = {
                "accuracy_attention": softmax.network.answer(asked),
                "accuracy_attention_margin": margin.network.answer(asked),
            }
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s of one core")
        text = self._note_text(vectors, seen, softmax, margin)
        return list(self._measured(seen, answers, text, np.flatnonzero(items)))

    def _note_text(
        self,
        vectors: StaticVectors,
        seen: PooledSentences,
        softmax: TrainedAttention,
        margin: TrainedAttention,
    ) -> str:
        """What was chosen and learnt from; what an encoder had to read in parts."""
        n_train, n_labels = len(self.sentences.places(TRAIN)), len(self.sentences.classes)
        cost = (
            f"learnt from {n_train:,} sentences of {n_labels:,} labels; "
            f"{source_note(seen.source)}weight decay {seen.means[seen.source].decay:g} for "
            f"means, learning rate {softmax.rate:g} in {softmax.epochs} epochs for attention, "
            f"{margin.rate:g} in {margin.epochs} with a margin of {margin.margin:g}"
        )
        encoder = encoder_of(vectors)
        long = None if encoder is None else long_sentence_note(encoder, seen.words)
        return cost if long is None else f"{cost}; {long}"

    def _measured(
        self,
        seen: PooledSentences,
        answers: dict[str, np.ndarray],
        text: str,
        items: np.ndarray,
    ) -> Iterator[Measurement]:
        """Every metric on some items, ascending."""
        places = self.sentences.places(TEST)
        labels = self.sentences.labels[places]

        def count(words: np.ndarray) -> int:
            return int(seen.inputs.with_any(words)[places][items].sum())

        means = {source: probe.answers[places] for source, probe in seen.means.items()}
        for metric, answered in {"accuracy": means[seen.source], **answers}.items():
            whole = Measurement(
                task="sentences",
                dataset=self.dataset,
                metric=metric,
                items=items,
                items_total=self.n_items,
                statistic=Means((answered == labels)[items]) if len(items) else None,
                reason=None if len(items) else "no sentence is asked",
                items_composed=count(seen.inputs.composed),
                items_zero=count(seen.inputs.zero),
                note=text,
            )
            yield whole
            if metric == "accuracy" and self.layers and len(means) > 1:
                for source, found in means.items():
                    statistic = Means((found == labels)[items]) if len(items) else None
                    yield replace(
                        whole, section=source, statistic=statistic, items_composed=0, items_zero=0
                    )
