"""Labeling each word: can a small probe read parts of speech or entities off frozen vectors?"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import thread_time

import numpy as np

from corpora.common.reporting import note
from embed.compare.config import CompareConfig
from embed.compare.datasets.parts import DEV, TRAIN
from embed.compare.datasets.tagged_words import read_parts
from embed.compare.inputs.encoder_access import encoder_of
from embed.compare.inputs.long_sentences import long_sentence_note
from embed.compare.probes.examples import (
    STATIC,
    TrainedProbe,
    layer_source,
    source_note,
    standardized,
)
from embed.compare.probes.linear import train_linear
from embed.compare.probes.one_thread import ONE_THREAD
from embed.compare.probes.window import train_window
from embed.compare.statistics.estimators import Means, Statistic
from embed.compare.statistics.span_f1 import Ratios, are_entities, span_f1
from embed.compare.task import Measurement
from embed.compare.tasks.tagging.inputs import (
    N_MARKS,
    Inputs,
    likely_parts,
    sentences_read,
    state_inputs,
    static_inputs,
)
from embed.compare.tasks.tagging.items import TaggingSet
from embed.protocols import StaticVectors

_RADIUS = 1  # neighbors each side that the window probe sees
_LISTED = 10  # labels that a note names


@dataclass(frozen=True, eq=False)
class TaggingTask:
    """Words with a label each; an item is a word of the test part.

    Every run is asked every word. Runs with an encoder are asked by the states of the layer
    that is best on the development part, others by their vectors. Probes learn from the
    training part; what is to be chosen is chosen on the development part.
    """

    dataset: str  # name of the set
    words: TaggingSet  # the set
    layers: bool  # whether each layer of an encoder is scored, too, and its static vectors

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "TaggingTask":
        """Read the parts of a set."""
        parts = read_parts(str(path))
        words = TaggingSet(parts, config.seed)
        if unseen := words.unseen:
            note(
                f"{parts.name}: {sum(unseen.values()):,} words have labels that the training "
                f"part lacks ({_listed(sorted(unseen))}); they count as wrong"
            )
        return cls(parts.name, words, config.sections)

    def __repr__(self) -> str:
        """Name all that answers depend on."""
        return f"TaggingTask({self.dataset!r}, {self.words.fingerprint()}, {self.layers})"

    @property
    def n_items(self) -> int:
        """How many words the test part has."""
        return len(self.words.asked)

    def texts(self) -> Iterable[str]:
        """List the words of all parts, and what those that may be cut are likely cut into."""
        words = dict.fromkeys(self.words.words)
        return list(dict.fromkeys(t for word in words for t in (word, *likely_parts(word))))

    def items(self) -> Iterable[Sequence[str]]:
        """List the words of the test part."""
        return [(self.words.words[place],) for place in self.words.asked.tolist()]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell that every word can be asked: that it is unknown tells something of its label."""
        # returns bool (n_items,)
        return np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Learn probes, and score them on the test part. The time that it took is told."""
        # items: bool (n_items,)
        started, words = thread_time(), self.words
        with ONE_THREAD:
            best, by_source = self._linear(vectors)
            rows = best.inputs.windows(words.offsets, _RADIUS)
            window, window_control = (
                self._learn_window(best.inputs, rows, labels)
                for labels in (words.labels, words.control)
            )
            control = self._learn(best.inputs, words.control)
            answers = _Answers(
                by_source[best.source],
                window.answer(rows[words.asked]),
                control.answer(best.inputs.rows[words.asked, None]),
                window_control.answer(rows[words.asked]),
            )
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s of one core")
        shown = by_source if self.layers and len(by_source) > 1 else {}
        found = self._measured(best.inputs, answers, shown, np.flatnonzero(items))
        text = self._note_text(vectors, best, window)
        return [each if each.section else replace(each, note=text) for each in found]

    def _sources(self, vectors: StaticVectors) -> Iterator[tuple[str, Callable[[], Inputs]]]:
        """What probes may see: vectors, or the states of each layer; made when called."""
        words, encoder = self.words, encoder_of(vectors)
        if encoder is None or self.layers:
            yield STATIC, partial(static_inputs, vectors, words.words)
        if encoder is not None:
            for layer in range(encoder.n_layers + 1):
                states = partial(state_inputs, encoder, words.words, words.offsets, layer)
                yield layer_source(layer), states

    def _linear(self, vectors: StaticVectors) -> tuple["_Best", dict[str, np.ndarray]]:
        """The best source on the development part, and what is answered from each."""
        best: _Best | None = None
        answers: dict[str, np.ndarray] = {}
        for source, inputs in self._sources(vectors):
            tried = self._tried(source, inputs())
            answers[source] = tried.probe.answer(tried.inputs.rows[self.words.asked, None])
            # static vectors of an encoder stand beside its states, not for them
            if best is None or best.source == STATIC or tried.probe.accuracy > best.probe.accuracy:
                best = tried
            del tried  # its table is no small thing, and the next one comes
        assert best is not None
        return best, answers

    def _tried(self, source: str, raw: Inputs) -> "_Best":
        """A linear probe of one source."""
        table = standardized(raw.table, raw.rows[self.words.roles == TRAIN], N_MARKS)
        inputs = replace(raw, table=table)
        return _Best(source, inputs, self._learn(inputs, self.words.labels))

    def _learn(self, inputs: Inputs, labels: np.ndarray) -> TrainedProbe:
        """A linear probe for some labels."""
        train, dev = (
            self.words.examples(inputs.rows[:, None], labels, role) for role in (TRAIN, DEV)
        )
        return train_linear(inputs.table, train, dev, len(self.words.classes))

    def _learn_window(self, inputs: Inputs, rows: np.ndarray, labels: np.ndarray) -> TrainedProbe:
        """A window probe for some labels."""
        words = self.words
        train, dev = (words.examples(rows, labels, role) for role in (TRAIN, DEV))
        return train_window(inputs.table, train, dev, len(words.classes), words.seed)

    def _note_text(self, vectors: StaticVectors, best: "_Best", window: TrainedProbe) -> str:
        """What was chosen, and what it took; what an encoder had to read in parts."""
        words, encoder = self.words, encoder_of(vectors)
        cost = (
            f"{source_note(best.source)}learnt from {(words.roles == TRAIN).sum():,} words, "
            f"weight decay {best.probe.decay:g}, of the window {window.decay:g} in "
            f"{window.epochs} epochs"
        )
        if encoder is None:
            return cost
        long = long_sentence_note(encoder, sentences_read(encoder, words.words, words.offsets))
        return cost if long is None else f"{cost}; {long}"

    def _measured(
        self,
        inputs: Inputs,
        answers: "_Answers",
        by_source: Mapping[str, np.ndarray],
        items: np.ndarray,
    ) -> Iterator[Measurement]:
        """Every metric on some items, ascending."""
        words, asked = self.words, self.words.asked
        labels = words.labels[asked]
        linear, window = answers.linear == labels, answers.window == labels
        guessed, guessed_window = (
            each == words.control[asked] for each in (answers.control, answers.window_control)
        )
        plain = int((~words.ambiguous[asked]).sum())
        values = {
            "accuracy": linear,
            "accuracy_window": window,
            "accuracy_ambiguous": linear,
            "accuracy_ambiguous_window": window,
            "selectivity": linear.astype(np.float64) - guessed,
            "selectivity_window": window.astype(np.float64) - guessed_window,
        }
        statistics: dict[str, Statistic] = {
            metric: Means(value) for metric, value in values.items()
        }
        if are_entities([*words.parts.train.tags, *words.parts.test.tags]):
            statistics |= {"f1": self._f1(answers.linear), "f1_window": self._f1(answers.window)}
        for metric, statistic in statistics.items():
            first = plain if "ambiguous" in metric else 0
            yield self._one(metric, statistic, inputs, items[items >= first], first)
        for source, found in by_source.items():
            whole = self._one("accuracy", Means(found == labels), inputs, items, 0)
            yield replace(whole, section=source, items_composed=0, items_zero=0)

    def _one(
        self, metric: str, statistic: Statistic, inputs: Inputs, items: np.ndarray, first: int
    ) -> Measurement:
        """One metric on some items; its statistic is of all."""
        places = self.words.asked[items]
        chosen = np.isin(np.arange(self.n_items), items)
        return Measurement(
            task="tagging",
            dataset=self.dataset,
            metric=metric,
            items=items,
            items_total=self.n_items - first,
            first=first,
            statistic=statistic.take(chosen) if len(items) else None,
            reason=None if len(items) else "no word is asked that carries several labels",
            items_composed=int(inputs.composed[places].sum()),
            items_zero=int(inputs.zero[places].sum()),
            units=self.words.sentences[places][:, None],
        )

    def _f1(self, answers: np.ndarray) -> Ratios:
        """F1 of spans, in the order of items."""
        test, places = self.words.parts.test, self.words.asked - self.words.asked.min()
        given = np.empty(len(places), dtype=object)
        given[places] = np.array(self.words.classes, dtype=object)[answers]
        f1 = span_f1(test.tags, given.tolist(), test.offsets)
        return Ratios(f1.numerators[places], f1.denominators[places])


def _listed(labels: Sequence[str]) -> str:
    """The first of some labels, and how many there are besides."""
    more = [f"{len(labels) - _LISTED:,} more"] if len(labels) > _LISTED else []
    return ", ".join([*labels[:_LISTED], *more])


@dataclass(frozen=True, eq=False)
class _Best:
    """What a linear probe answers from, the best one or one that may be."""

    source: str
    inputs: Inputs
    probe: TrainedProbe


@dataclass(frozen=True, eq=False)
class _Answers:
    """The labels that probes gave, int64 (n_items,) each."""

    linear: np.ndarray
    window: np.ndarray
    control: np.ndarray
    window_control: np.ndarray
