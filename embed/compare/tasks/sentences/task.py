"""Labeling sentences with probes on pooled vectors, by the mean or by attention."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import thread_time

import numpy as np

from corpora.common.reporting import note
from embed.compare.config import CompareConfig
from embed.compare.datasets.labeled_sentences import LabeledSentences, read_sentence_parts
from embed.compare.datasets.parts import TEST, TRAIN
from embed.compare.inputs.encoder_access import encoder_of
from embed.compare.inputs.long_sentences import long_sentence_note
from embed.compare.probes.attention_pooling import TrainedAttention
from embed.compare.probes.examples import source_note
from embed.compare.probes.one_thread import ONE_THREAD
from embed.compare.probes.progress import share
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement
from embed.compare.tasks.sentences.items import SentenceSet
from embed.compare.tasks.sentences.pooling_probes import PooledSentences, pool_sentences
from embed.compare.tasks.tagging.inputs import likely_parts
from embed.protocols import StaticVectors


def note_coarse(name: str, sentences: LabeledSentences, config: CompareConfig) -> None:
    """Print a note if labels were cut to their coarse part."""
    if sentences.n_finer and not config.fine_labels:
        note(
            f"{name}: {len(set(sentences.labels)):,} coarse labels, such as "
            f"{sentences.labels[0]!r}; `fine_labels` predicts the fine ones"
        )


@dataclass(frozen=True, eq=False)
class SentencesTask:
    """Labeled sentences; an item is a sentence of the test part.

    Every run is scored on every sentence: runs with an encoder by the states of the layer best on
    the development part, others by their static vectors. Probes are trained on the training part,
    and hyperparameters are chosen on the development part.
    """

    dataset: str  # name of the set
    sentences: SentenceSet  # the set
    layers: bool  # whether all layers of an encoder and its static vectors are scored as well

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SentencesTask":
        """Read the parts of a set, printing notes on unseen labels and shared sentences."""
        parts = read_sentence_parts(str(path), fine=config.fine_labels)
        note_coarse(parts.name, parts.test, config)
        sentences = SentenceSet(parts, config.seed)
        for text in (*sentences.training_notes(), *sentences.test_notes()):
            note(f"{parts.name}: {text}")
        return cls(parts.name, sentences, config.sections)

    def __repr__(self) -> str:
        """Name everything that measurements depend on, for the cache."""
        return f"SentencesTask({self.dataset!r}, {self.sentences.fingerprint()}, {self.layers})"

    @property
    def n_items(self) -> int:
        """Number of sentences in the test part."""
        return self.sentences.parts.test.n_sentences

    def texts(self) -> Iterable[str]:
        """Return all white-space tokens, and the parts they may be split into."""
        tokens = dict.fromkeys(token for text in self.sentences.texts for token in text.split())
        return list(dict.fromkeys(t for token in tokens for t in (token, *likely_parts(token))))

    def items(self) -> Iterable[Sequence[str]]:
        """Return the words of each test sentence, or its punctuation if there are none."""
        cut = [text.split() for text in self.sentences.parts.test.texts]
        return [[t for t in tokens if any(map(str.isalnum, t))] or tokens for tokens in cut]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return all sentences: an unknown word is a zero vector with a flag."""
        # returns bool (n_items,)
        return np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Train probes, score the test part, and print the time taken.

        ``accuracy`` is that of the mean probe, and with ``layers`` also of every source, as a
        section; ``accuracy_attention`` and ``accuracy_attention_margin`` pool by attention.
        """
        # items: bool (n_items,)
        started, sentences = thread_time(), self.sentences
        with ONE_THREAD:
            with share(0, 0.4):
                pooled = pool_sentences(vectors, sentences, static_too=self.layers)
            with share(0.4, 0.6):
                softmax = pooled.train_attention(sentences)
            with share(0.6, 1):
                margin = pooled.train_attention(sentences, margin=True)
            bags = pooled.labeled(sentences, TEST).bags
            predictions = {
                "accuracy_attention": softmax.network.predict(bags),
                "accuracy_attention_margin": margin.network.predict(bags),
            }
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s on one core")
        text = self._note_text(vectors, pooled, softmax, margin)
        return list(self._measured(pooled, predictions, text, np.flatnonzero(items)))

    def _note_text(
        self,
        vectors: StaticVectors,
        pooled: PooledSentences,
        softmax: TrainedAttention,
        margin: TrainedAttention,
    ) -> str:
        """Return a note on training data, chosen hyperparameters and long sentences."""
        n_train, n_labels = len(self.sentences.places(TRAIN)), len(self.sentences.classes)
        text = (
            f"trained on {n_train:,} sentences with {n_labels:,} labels; "
            f"{source_note(pooled.source)}weight decay {pooled.means[pooled.source].decay:g} for "
            f"means, learning rate {softmax.rate:g} in {softmax.epochs} epochs for attention, "
            f"{margin.rate:g} in {margin.epochs} with a margin of {margin.margin:g}"
        )
        encoder = encoder_of(vectors)
        long = None if encoder is None else long_sentence_note(encoder, pooled.words)
        return text if long is None else f"{text}; {long}"

    def _measured(
        self,
        pooled: PooledSentences,
        predictions: dict[str, np.ndarray],
        text: str,
        items: np.ndarray,
    ) -> Iterator[Measurement]:
        """Yield every metric on some items."""
        places = self.sentences.places(TEST)
        labels = self.sentences.labels[places]

        def count(words: np.ndarray) -> int:
            return int(pooled.inputs.with_any(words)[places][items].sum())

        means = {source: probe.predictions[places] for source, probe in pooled.means.items()}
        for metric, predicted in {"accuracy": means[pooled.source], **predictions}.items():
            whole = Measurement(
                task="sentences",
                dataset=self.dataset,
                metric=metric,
                items=items,
                items_total=self.n_items,
                statistic=Means((predicted == labels)[items]) if len(items) else None,
                reason=None if len(items) else "no sentence is scored",
                items_composed=count(pooled.inputs.composed),
                items_zero=count(pooled.inputs.zero),
                note=text,
                chance=self.sentences.chance(items),
            )
            yield whole
            if metric == "accuracy" and self.layers and len(means) > 1:
                for source, found in means.items():
                    statistic = Means((found == labels)[items]) if len(items) else None
                    yield replace(
                        whole,
                        section=source,
                        statistic=statistic,
                        items_composed=0,
                        items_zero=0,
                        chance=None,
                    )
