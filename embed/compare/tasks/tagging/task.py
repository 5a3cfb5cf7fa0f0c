"""Labeling words, such as parts of speech or entities, with probes on frozen vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import thread_time
from typing import Any, ClassVar

import numpy as np

from firth.corpora.common.errors import require_torch
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import TRAIN
from firth.embed.compare.datasets.tagged_words import looks_tagged, read_parts
from firth.embed.compare.inputs.encoder_access import encoder_of, static_note
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.probes.examples import (
    STATIC,
    TrainedProbe,
    input_sources,
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
    phrase_of_each,
    sentences_read,
    state_inputs,
    static_inputs,
)
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.protocols import ContextualEncoder, StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD

_RADIUS = 1  # neighbors each side that the window probe sees
_VERSION = 3  # of the probes: increased when their results change, if only by rounding


@dataclass(frozen=True, eq=False)
class TaggingTask(Task):
    """Labeled words; an item is a word of the test part."""

    dataset: str  # name of the set
    words: TaggingSet  # the set
    layers: bool  # whether all layers of an encoder and its static vectors are scored as well
    key = "tagging"
    skill = "labels of words"
    looks = staticmethod(looks_tagged)
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
    def read(cls, path: Path, config: CompareConfig) -> "TaggingTask":
        """Read the parts of a set, printing a note on labels unseen in training."""
        parts = read_parts(str(path))
        require_torch(f"{parts.name}: a probe")
        words = TaggingSet(parts, config.seed)
        if unseen := words.unseen_note(parts.test, "words"):
            note(f"{parts.name}: {unseen}")
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
        started, words, test = thread_time(), self.words, self.words.test_words
        with ONE_THREAD:
            with share(0, 0.3):
                best, by_source = self.train_sources(vectors)
            table = best.inputs.table
            single, windows = best.inputs.rows[:, None], best.inputs.windows(words.offsets, _RADIUS)
            with share(0.3, 0.7):
                window, window_control = (
                    train_window(table, *words.for_probes(windows, labels), words.seed)
                    for labels in steps((words.labels, words.control))
                )
            with share(0.7, 1):
                control = train_linear(table, *words.for_probes(single, words.control))
            statistics = {
                **self._statistics("", single[test], best.probe, control),
                **self._statistics("_window", windows[test], window, window_control),
            }
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s on one core")
        text, chosen = self._note_text(vectors, best, window), np.flatnonzero(items)
        ambiguous = chosen[words.ambiguous[test[chosen]]]
        n_plain = int((~words.ambiguous[test]).sum())
        measured = [
            self._metric(metric, statistics[metric], best.inputs, ambiguous, n_plain, note=text)
            if "ambiguous" in metric
            else self._metric(metric, statistics[metric], best.inputs, chosen, note=text)
            for metric in self.metrics
            if metric in statistics
        ]
        about: dict[str, Any] = {"items_composed": 0, "items_zero": 0, "chance": None}
        shown = by_source if self.layers and len(by_source) > 1 else {}
        for source, predicted in shown.items():
            right = Means(predicted == words.labels[test])
            measured.append(
                self._metric("accuracy", right, best.inputs, chosen, section=source, **about)
            )
        return measured

    def _encoder(self, vectors: StaticVectors) -> ContextualEncoder | None:
        """Return the encoder of a run, if it has one that can read the set."""
        return encoder_of(vectors, trees=self.words.heads is not None)

    def train_sources(self, vectors: StaticVectors) -> tuple["_SourceProbe", dict[str, np.ndarray]]:
        """Return the best source on the development part, and the predictions from each."""
        words, encoder = self.words, self._encoder(vectors)
        best: _SourceProbe | None = None
        predictions: dict[str, np.ndarray] = {}
        for source, layer in steps(list(input_sources(encoder, static_too=self.layers).items())):
            if encoder is None or layer is None:
                inputs = static_inputs(vectors, phrase_of_each(vectors, words.words, words.offsets))
            else:
                inputs = state_inputs(
                    encoder, words.words, words.offsets, layer, heads=words.heads, gaps=words.gaps
                )
            tried = self._train_source(source, inputs)
            del inputs  # as is tried below: the next large table is made when they are freed
            predictions[source] = tried.probe.predict(tried.inputs.rows[words.test_words, None])
            # static vectors of an encoder are only scored for comparison
            if best is None or best.source == STATIC or tried.probe.accuracy > best.probe.accuracy:
                best = tried
            del tried
        assert best is not None
        return best, predictions

    def _train_source(self, source: str, raw: Inputs) -> "_SourceProbe":
        """Train a linear probe on one source."""
        words = self.words
        table = standardized(raw.table, raw.rows[words.places(TRAIN)], N_FLAGS)
        probe = train_linear(table, *words.for_probes(raw.rows[:, None], words.labels))
        return _SourceProbe(source, replace(raw, table=table), probe)

    def _note_text(self, vectors: StaticVectors, best: "_SourceProbe", window: TrainedProbe) -> str:
        """Return a note on training data, chosen hyperparameters and long sentences."""
        words, encoder = self.words, self._encoder(vectors)
        text = (
            f"{source_note(best.source)}trained on {len(words.places(TRAIN)):,} words, "
            f"weight decay {best.probe.decay:g}; window probe: weight decay {window.decay:g}, "
            f"{window.epochs} epochs"
        )
        if encoder is None:
            return static_note(vectors) + text
        long = long_sentence_note(
            encoder, sentences_read(encoder, words.words, words.offsets, words.gaps)
        )
        return text if long is None else f"{text}; {long}"

    def _statistics(
        self, suffix: str, rows: np.ndarray, probe: TrainedProbe, control: TrainedProbe
    ) -> dict[str, Statistic]:
        """Return the metrics of one kind of probe, on all items."""
        # rows: int64 (n_items, w)
        words, predicted = self.words, probe.predict(rows)
        right = predicted == words.labels[words.test_words]
        memorized = control.predict(rows) == words.control[words.test_words]
        found: dict[str, Statistic] = {
            f"accuracy{suffix}": Means(right),
            f"accuracy_ambiguous{suffix}": Means(right),
            f"selectivity{suffix}": Means(right.astype(np.float64) - memorized),
        }
        if are_entities([*words.parts.train.labels, *words.parts.test.labels]):
            found[f"f1{suffix}"] = self._f1(predicted)
        return found

    def _metric(
        self,
        metric: str,
        statistic: Statistic,
        inputs: Inputs,
        items: np.ndarray,
        first: int = 0,
        **about: Any,
    ) -> Measurement:
        """Return one metric on some items; ``statistic`` covers all items."""
        places, some = self.words.test_words[items], len(items) > 0
        by_chance = metric.startswith("accuracy") and some
        about = {
            "items_total": self.n_items - first,
            "first": first,
            "chance": float(self.words.right_by_chance(places).mean()) if by_chance else None,
            "items_composed": int(inputs.composed[places].sum()),
            "items_zero": int(inputs.zero[places].sum()),
            "units": self.words.sentences[places][:, None],
        } | about
        chosen = np.isin(np.arange(self.n_items), items)
        reason = None if some else "no ambiguous word is scored"
        return self._measurement(
            metric, items, statistic.take(chosen) if some else None, reason, **about
        )

    def _f1(self, predictions: np.ndarray) -> Ratios:
        """Return the F1 of spans, in item order."""
        test, places = self.words.parts.test, self.words.test_words - self.words.test_words.min()
        given = np.empty(len(places), dtype=object)
        given[places] = np.array(self.words.classes, dtype=object)[predictions]
        f1 = span_f1(test.labels, given.tolist(), test.offsets)
        return Ratios(f1.numerators[places], f1.denominators[places])


@dataclass(frozen=True, eq=False)
class _SourceProbe:
    """A linear probe with the source that it is trained on."""

    source: str
    inputs: Inputs
    probe: TrainedProbe
