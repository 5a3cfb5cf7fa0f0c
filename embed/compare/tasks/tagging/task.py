"""Labeling words, such as parts of speech or entities, with probes on frozen vectors."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import thread_time
from typing import ClassVar

import numpy as np

from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import DEV, TRAIN
from firth.embed.compare.datasets.tagged_words import looks_tagged, read_parts
from firth.embed.compare.inputs.encoder_access import encoder_of, static_note
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.probes.examples import (
    STATIC,
    TrainedProbe,
    layer_source,
    source_note,
    standardized,
)
from firth.embed.compare.probes.linear import train_linear
from firth.embed.compare.probes.progress import share, steps
from firth.embed.compare.probes.window import train_window
from firth.embed.compare.statistics.estimators import Means, Statistic
from firth.embed.compare.statistics.span_f1 import Ratios, are_entities, span_f1
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.tagging.inputs import (
    N_FLAGS,
    Inputs,
    likely_parts,
    sentences_read,
    state_inputs,
    static_inputs,
)
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.protocols import ContextualEncoder, StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD

_RADIUS = 1  # neighbors each side that the window probe sees
_VERSION = 2  # of the probes: increased when their results change, if only by rounding
_LISTED = 10  # labels that a note lists


@dataclass(frozen=True, eq=False)
class TaggingTask(Task):
    """Labeled words; an item is a word of the test part.

    Runs are scored by the layer best on the development part, or by static vectors.
    """

    dataset: str  # name of the set
    words: TaggingSet  # the set
    layers: bool  # whether all layers of an encoder and its static vectors are scored as well
    key = "tagging"
    skill = "labels of words"
    metrics: ClassVar = {
        "accuracy": "share of words that a linear classifier of their vectors labels right",
        "accuracy_window": "the same for a classifier that also sees the two neighboring words",
        "accuracy_ambiguous": "accuracy on words that have several labels",
        "accuracy_ambiguous_window": "accuracy window on words that have several labels",
        "selectivity": "accuracy minus that on random labels: what is learned, not memorized",
        "selectivity_window": "the same for accuracy window",
        "f1": "F1 of exact spans of entities",
        "f1_window": "the same for the classifier that sees the neighboring words",
    }
    several_files = True
    zero_if_unknown = True

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize two or three files of columns, with blank lines between sentences."""
        return Match.LIKELY if looks_tagged(head) else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "TaggingTask":
        """Read the parts of a set, printing a note on labels unseen in training."""
        parts = read_parts(str(path))
        words = TaggingSet(parts, config.seed)
        if unseen := words.unseen_labels:
            note(
                f"{parts.name}: {sum(unseen.values()):,} words have labels that the training "
                f"part lacks ({_listed(sorted(unseen))}); they count as wrong"
            )
        return cls(parts.name, words, config.sections)

    def __repr__(self) -> str:
        """Name everything that measurements depend on, for the cache."""
        found = self.dataset, self.words.fingerprint(), self.layers, _VERSION
        return f"TaggingTask{found!r}"

    @property
    def n_items(self) -> int:
        """Number of words in the test part."""
        return len(self.words.test_words)

    def texts(self) -> Iterable[str]:
        """Return the words of all parts, and the parts they may be split into."""
        words = dict.fromkeys(self.words.words)
        return list(dict.fromkeys(t for word in words for t in (word, *likely_parts(word))))

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of the test part, one per item."""
        return [(self.words.words[place],) for place in self.words.test_words.tolist()]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Train probes, score them on the test part, and print the time taken."""
        # items: bool (n_items,)
        started, words = thread_time(), self.words
        with ONE_THREAD:
            with share(0, 0.3):
                best, by_source = self.train_sources(vectors)
            rows = best.inputs.windows(words.offsets, _RADIUS)
            with share(0.3, 0.7):
                window, window_control = (
                    self._train_window(best.inputs, rows, labels)
                    for labels in steps((words.labels, words.control))
                )
            with share(0.7, 1):
                control = self._train_linear(best.inputs, words.control)
            predictions = _Predictions(
                by_source[best.source],
                window.predict(rows[words.test_words]),
                control.predict(best.inputs.rows[words.test_words, None]),
                window_control.predict(rows[words.test_words]),
            )
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s on one core")
        shown = by_source if self.layers and len(by_source) > 1 else {}
        found = self._measured(best.inputs, predictions, shown, np.flatnonzero(items))
        text = self._note_text(vectors, best, window)
        return [each if each.section else replace(each, note=text) for each in found]

    def _encoder(self, vectors: StaticVectors) -> ContextualEncoder | None:
        """Return the encoder of a run, if it has one that can read the set."""
        return encoder_of(vectors, trees=self.words.heads is not None)

    def _sources(self, vectors: StaticVectors) -> Iterator[tuple[str, Callable[[], Inputs]]]:
        """Yield the input sources with functions that make them: static vectors, or each layer."""
        words, encoder = self.words, self._encoder(vectors)
        if encoder is None or self.layers:
            yield STATIC, partial(static_inputs, vectors, words.words)
        if encoder is not None:
            for layer in range(encoder.n_layers + 1):
                states = partial(
                    state_inputs, encoder, words.words, words.offsets, layer, heads=words.heads
                )
                yield layer_source(layer), states

    def train_sources(self, vectors: StaticVectors) -> tuple["_SourceProbe", dict[str, np.ndarray]]:
        """Return the best source on the development part, and the predictions from each."""
        best: _SourceProbe | None = None
        predictions: dict[str, np.ndarray] = {}
        for source, inputs in steps(list(self._sources(vectors))):
            tried = self._train_source(source, inputs())
            predictions[source] = tried.probe.predict(
                tried.inputs.rows[self.words.test_words, None]
            )
            # static vectors of an encoder are only scored for comparison
            if best is None or best.source == STATIC or tried.probe.accuracy > best.probe.accuracy:
                best = tried
            del tried  # frees its large table before the next is made
        assert best is not None
        return best, predictions

    def _train_source(self, source: str, raw: Inputs) -> "_SourceProbe":
        """Train a linear probe on one source."""
        table = standardized(raw.table, raw.rows[self.words.roles == TRAIN], N_FLAGS)
        inputs = replace(raw, table=table)
        return _SourceProbe(source, inputs, self._train_linear(inputs, self.words.labels))

    def _train_linear(self, inputs: Inputs, labels: np.ndarray) -> TrainedProbe:
        """Train a linear probe for some labels."""
        train, dev = (
            self.words.examples(inputs.rows[:, None], labels, role) for role in (TRAIN, DEV)
        )
        return train_linear(inputs.table, train, dev, len(self.words.classes))

    def _train_window(self, inputs: Inputs, rows: np.ndarray, labels: np.ndarray) -> TrainedProbe:
        """Train a window probe for some labels."""
        words = self.words
        train, dev = (words.examples(rows, labels, role) for role in (TRAIN, DEV))
        return train_window(inputs.table, train, dev, len(words.classes), words.seed)

    def _note_text(self, vectors: StaticVectors, best: "_SourceProbe", window: TrainedProbe) -> str:
        """Return a note on training data, chosen hyperparameters and long sentences."""
        words, encoder = self.words, self._encoder(vectors)
        text = (
            f"{source_note(best.source)}trained on {(words.roles == TRAIN).sum():,} words, "
            f"weight decay {best.probe.decay:g}; window probe: weight decay {window.decay:g}, "
            f"{window.epochs} epochs"
        )
        if encoder is None:
            return static_note(vectors) + text
        long = long_sentence_note(encoder, sentences_read(encoder, words.words, words.offsets))
        return text if long is None else f"{text}; {long}"

    def _measured(
        self,
        inputs: Inputs,
        predictions: "_Predictions",
        by_source: Mapping[str, np.ndarray],
        items: np.ndarray,
    ) -> Iterator[Measurement]:
        """Yield every metric on some items."""
        words, places = self.words, self.words.test_words
        labels = words.labels[places]
        linear, window = predictions.linear == labels, predictions.window == labels
        memorized, memorized_window = (
            each == words.control[places]
            for each in (predictions.control, predictions.window_control)
        )
        plain = int((~words.ambiguous[places]).sum())
        values = {
            "accuracy": linear,
            "accuracy_window": window,
            "accuracy_ambiguous": linear,
            "accuracy_ambiguous_window": window,
            "selectivity": linear.astype(np.float64) - memorized,
            "selectivity_window": window.astype(np.float64) - memorized_window,
        }
        statistics: dict[str, Statistic] = {
            metric: Means(value) for metric, value in values.items()
        }
        if are_entities([*words.parts.train.tags, *words.parts.test.tags]):
            statistics |= {
                "f1": self._f1(predictions.linear),
                "f1_window": self._f1(predictions.window),
            }
        for metric, statistic in statistics.items():
            first = plain if "ambiguous" in metric else 0
            yield self._metric(metric, statistic, inputs, items[items >= first], first)
        for source, found in by_source.items():
            whole = self._metric("accuracy", Means(found == labels), inputs, items, 0)
            yield replace(whole, section=source, items_composed=0, items_zero=0, chance=None)

    def _metric(
        self, metric: str, statistic: Statistic, inputs: Inputs, items: np.ndarray, first: int
    ) -> Measurement:
        """Return one metric on some items; ``statistic`` covers all items."""
        places = self.words.test_words[items]
        chosen = np.isin(np.arange(self.n_items), items)
        return Measurement(
            task=self.key,
            dataset=self.dataset,
            metric=metric,
            items=items,
            items_total=self.n_items - first,
            first=first,
            statistic=statistic.take(chosen) if len(items) else None,
            reason=None if len(items) else "no ambiguous word is scored",
            chance=self._chance(places) if metric.startswith("accuracy") and len(places) else None,
            items_composed=int(inputs.composed[places].sum()),
            items_zero=int(inputs.zero[places].sum()),
            units=self.words.sentences[places][:, None],
        )

    def _chance(self, places: np.ndarray) -> float:
        """Return the accuracy on some words of the label most frequent in TRAIN."""
        # places: int64 (n,)
        most = np.bincount(self.words.labels[self.words.roles == TRAIN]).argmax()
        return float((self.words.labels[places] == most).mean())

    def _f1(self, predictions: np.ndarray) -> Ratios:
        """Return the F1 of spans, in item order."""
        test, places = self.words.parts.test, self.words.test_words - self.words.test_words.min()
        given = np.empty(len(places), dtype=object)
        given[places] = np.array(self.words.classes, dtype=object)[predictions]
        f1 = span_f1(test.tags, given.tolist(), test.offsets)
        return Ratios(f1.numerators[places], f1.denominators[places])


def _listed(labels: Sequence[str]) -> str:
    """List the first labels, and the number of further ones."""
    more = [f"{len(labels) - _LISTED:,} more"] if len(labels) > _LISTED else []
    return ", ".join([*labels[:_LISTED], *more])


@dataclass(frozen=True, eq=False)
class _SourceProbe:
    """A linear probe with the source that it is trained on."""

    source: str
    inputs: Inputs
    probe: TrainedProbe


@dataclass(frozen=True, eq=False)
class _Predictions:
    """The predictions of each probe, int64 (n_items,)."""

    linear: np.ndarray
    window: np.ndarray
    control: np.ndarray
    window_control: np.ndarray
