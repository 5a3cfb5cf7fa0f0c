"""Words in context: whether contextual similarity matches human judgments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from firth.corpora.common.errors import ArtifactError, SettingError, SourceError
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.context_pairs import (
    ContextSet,
    Target,
    gold_files,
    looks_like_contexts,
    parts_of_wic,
    read_contexts,
)
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import bare_name, set_name
from firth.embed.compare.inputs.encoder_access import WithEncoder, encoder_of
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.statistics.estimators import Correlation, Means, Statistic
from firth.embed.compare.statistics.roc import RocArea
from firth.embed.compare.statistics.thresholds import best_threshold, right_by_halves
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.similarity import (
    CORRELATIONS,
    DIGITS,
    METRICS,
    pair_cosines,
    why_undefined,
)
from firth.embed.compare.tasks.target_states import (
    contexts_read,
    masked_target_states,
    target_states,
    target_words,
)
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.embed.protocols import ContextualEncoder, StaticVectors
from firth.embed.vectors.search import unit_length


class _Metric(NamedTuple):
    """A metric with its statistic, or the reason why it is undefined."""

    name: str
    statistic: Statistic | None
    reason: str | None
    note: str | None = None
    chance: float | None = None


_STATIC = "scored with static vectors, which ignore the context"


@dataclass(frozen=True)
class ContextsTask(WordTask):
    """Pairs of words in context, scored by cosines of states, or of static vectors."""

    contexts: ContextSet  # the set
    # the part on which the threshold of WiC is chosen
    dev: "ContextsTask | None" = None
    seed: int = 1  # of the split into halves that replaces a development part
    key = "contexts"
    skill = "words in context"
    metrics: ClassVar = {
        **CORRELATIONS,
        "change": "correlation of the changes from one context to the other",
        "auc": "chance that a pair of one meaning has the higher cosine; .5 by guessing",
        "accuracy": "share of pairs judged right by a threshold on the cosine",
    }
    several_files = True
    # caches: all contexts are encoded once, even if some items and then all are measured
    _cosines: WeakKeyDictionary[StaticVectors, np.ndarray] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )
    _long_notes: WeakKeyDictionary[StaticVectors, str | None] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize marked words, their positions, or a header with contexts."""
        if head.names:
            has_data = any(".data" in Path(name).name for name in head.names)
            return Match.CERTAIN if has_data else Match.NO
        return Match.CERTAIN if looks_like_contexts(head) else Match.NO

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """Return the parts of a set, and the files with their labels or judgments."""
        parts = cls.parts(path)
        with_labels = (each for part in parts if part.is_file() for each in gold_files(part))
        return [path, *parts, *filter(Path.is_file, with_labels)]

    @classmethod
    def parts(cls, path: Path) -> list[Path]:
        """Return the part to choose a threshold on, if any, and the part to score."""
        if path.is_dir():
            return parts_of_wic(path)
        return [path] if path.is_file() else super().files(path)

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "ContextsTask":
        """Read a set of words in context, for WiC possibly ``DEV,TEST``, printing notes."""
        files = cls.parts(path)
        if path.is_dir():
            note(f"{path}: {', then '.join(str(file) for file in files)}")
        if len(files) > 2:
            raise SettingError(f"{str(path)!r}: got {len(files)} files; expected FILE or DEV,TEST")
        *dev, test = (cls(set_name(file), read_contexts(file), None, config.seed) for file in files)
        for file, part in zip(files, [*dev, test] if dev else [], strict=False):
            if part.contexts.form != "wic":
                raise SourceError(
                    f"{file}: the form {part.contexts.form} has nothing to choose on a development "
                    "part; pass only the file to score"
                )
        for part in (*dev, test):
            if part.contexts.mismatch:
                note(f"{part.dataset}: {part.contexts.mismatch}")
        # in the key of cached measurements, so without the folder
        dev = [replace(part, dataset=bare_name(part.dataset)) for part in dev]
        return replace(test, dev=dev[0]) if dev else test

    def items(self) -> Sequence[Sequence[str]]:
        """Return the listed words of each pair, not their forms in context."""
        return [(pair.a, pair.b) for pair in self.contexts.pairs]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the pairs with known words; in CoSimLex for both contexts or neither."""
        encoder = encoder_of(vectors)
        if encoder is None:
            return super().known(vectors, unknown)
        if unknown != "skip":
            return np.ones(self.n_items, dtype=bool)
        together = 4 if self.contexts.form == "cosimlex" else 2  # targets per line
        known = np.all(self._known_targets(encoder).reshape(-1, together), axis=1)
        return np.repeat(known, together // 2)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Compare cosines with judgments; a threshold is never chosen on the pairs it judges."""
        encoder = encoder_of(vectors)
        if encoder is None:
            found = self._look_up(vectors, items, unknown)
            places = found.places.reshape(-1, 2)
            cosines = pair_cosines(vectors, places, found.composed)
            chosen, counts = found.items, found.counts
            notes: list[str | None] = [_STATIC]
            metrics = self._metrics(chosen, cosines, static=True)
        else:
            chosen, counts = np.flatnonzero(items), {}
            cosines = self._in_context(vectors, encoder)[chosen]
            notes = [self._long_note(vectors, encoder), self.contexts.mismatch]
            threshold = self._threshold(vectors, encoder, unknown)
            metrics = self._metrics(chosen, cosines, threshold)
        # both contexts of a pair are drawn together
        units = chosen[:, None] // 2 if self.contexts.form == "cosimlex" else None
        words = self._word_numbers()[chosen] if self.contexts.form == "scws" else None
        return [
            self._measurement(
                metric.name,
                chosen,
                metric.statistic,
                metric.reason,
                note="; ".join(filter(None, [*notes, metric.note])) or None,
                units=units,
                words=words,
                chance=metric.chance,
                **counts,
            )
            for metric in metrics
        ]

    @cached_property
    def _gold(self) -> np.ndarray:
        """Judgments or labels, float64 (n_items,)."""
        return np.array([pair.gold for pair in self.contexts.pairs])

    @cached_property
    def _targets(self) -> list[Target]:
        """The two targets of each pair, alternating."""
        return [place for pair in self.contexts.pairs for place in (pair.first, pair.second)]

    def _known_targets(self, encoder: ContextualEncoder) -> np.ndarray:
        """Return which targets consist of words that the encoder covers, bool (2 n_items,)."""
        words = target_words(encoder, self._targets)
        distinct = list({word for each in words for word in each})
        known = dict(zip(distinct, encoder.covers(distinct).tolist(), strict=True))
        return np.array([bool(each) and all(known[word] for word in each) for each in words])

    def _in_context(self, vectors: StaticVectors, encoder: ContextualEncoder) -> np.ndarray:
        """Return the cosine of the two states of each pair, float64 (n_items,)."""
        if vectors not in self._cosines:
            states = _states(vectors, encoder, self._targets).astype(np.float64)
            finite = np.isfinite(states).all(axis=1)
            if not finite.all():
                raise _not_finite(vectors, self._targets[int(np.argmin(finite))])
            units = unit_length(states)
            cosines = np.einsum("ij,ij->i", units[::2], units[1::2])
            self._cosines[vectors] = np.round(cosines, DIGITS)
        return self._cosines[vectors]

    def _long_note(self, vectors: StaticVectors, encoder: ContextualEncoder) -> str | None:
        """Return a note on long contexts of both parts, or None; counted once per run."""
        if vectors not in self._long_notes:
            targets = [*self._targets, *(self.dev._targets if self.dev else ())]
            self._long_notes[vectors] = long_sentence_note(encoder, contexts_read(encoder, targets))
        return self._long_notes[vectors]

    def _threshold(
        self, vectors: StaticVectors, encoder: ContextualEncoder, unknown: str
    ) -> float | None:
        """Return the best threshold on the known pairs of the development part, or None."""
        if self.dev is None or not (known := self.dev.known(vectors, unknown)).any():
            return None
        return best_threshold(
            self.dev._gold[known] == 1, self.dev._in_context(vectors, encoder)[known]
        )

    def _accuracy(self, items: np.ndarray, cosines: np.ndarray, threshold: float | None) -> _Metric:
        """Return the accuracy by the threshold of the development part, or of the other half."""
        positive = self._gold[items] == 1
        if threshold is not None:
            assert self.dev is not None
            text = f"threshold {threshold:.3f}, chosen on {self.dev.dataset}"
            return _Metric("accuracy", Means((cosines > threshold) == positive), None, text)
        order = np.random.default_rng(self.seed).permutation(self.n_items)
        first = order[items] < self.n_items // 2
        if first.all() or not first.any():
            return _Metric("accuracy", None, "too few pairs are known to choose a threshold")
        text = "each half uses the threshold that is best on the other half"
        return _Metric("accuracy", Means(right_by_halves(positive, cosines, first)), None, text)

    def _metrics(
        self,
        items: np.ndarray,
        cosines: np.ndarray,
        threshold: float | None = None,
        *,
        static: bool = False,
    ) -> Iterator[_Metric]:
        """Yield the metrics of the form of this set."""
        gold = self._gold[items]
        if self.contexts.form == "wic":
            reason = _why_no_area(gold, static=static)
            yield _Metric("auc", RocArea(gold == 1, cosines), reason, chance=0.5)
            if reason is not None:
                yield _Metric("accuracy", None, reason)
                return
            share = float(gold.mean())
            found = self._accuracy(items, cosines, threshold)
            yield found._replace(chance=max(share, 1 - share))
            return
        if self.contexts.form == "cosimlex":
            changes = _changes(gold), _changes(cosines)
            reason = _why_no_change(*changes, static=static)
            yield _Metric("change", Correlation(*changes, ranked=False), reason)
        reason = why_undefined(gold, cosines)
        for name, ranked in METRICS.items():
            yield _Metric(name, Correlation(gold, cosines, ranked=ranked), reason)


def _states(
    vectors: StaticVectors, encoder: ContextualEncoder, targets: Sequence[Target]
) -> np.ndarray:
    """Return the states of targets in the space of the static vectors, float32 (n_targets, D)."""
    if isinstance(vectors, WithEncoder) and vectors.masked_layers:
        centers = getattr(vectors.vectors, "centers", None)
        return masked_target_states(encoder, targets, vectors.masked_layers, centers)
    return target_states(encoder, targets, pooled_layers(vectors, encoder))


def pooled_layers(vectors: StaticVectors, encoder: ContextualEncoder) -> tuple[int, ...]:
    """Return the layers that were pooled into the static vectors, else the default ones."""
    layers: tuple[int, ...] | None = getattr(vectors, "layers", None)
    return tuple(layers) if layers else parse_layers(AUTO, encoder.n_layers)


def _not_finite(vectors: StaticVectors, target: Target) -> ArtifactError:
    """Return the error for a state with NaN or infinity."""
    name, word = getattr(vectors, "name", "vectors"), target.parts[target.marks[0]].strip()
    return ArtifactError(
        f"{name}: the state of {word!r} in its context holds NaN or infinity; train the run again"
    )


def _changes(values: np.ndarray) -> np.ndarray:
    """Return each value minus that in the other context, so that draws of pairs sum to zero."""
    by_pair = values.reshape(-1, 2)
    return np.asarray((by_pair - by_pair[:, ::-1]).ravel())


def _why_no_area(gold: np.ndarray, *, static: bool) -> str | None:
    """Return why the area under the ROC curve is undefined, or None."""
    if not len(gold):
        return "no pair is known"
    if static:
        return "all cosines are equal: a static vector ignores the context"
    return "all labels are equal" if (gold == gold[0]).all() else None


def _why_no_change(gold: np.ndarray, cosines: np.ndarray, *, static: bool) -> str | None:
    """Return why changes have no correlation, or None."""
    if not len(gold):
        return "no pair is known"
    if static:
        return "no cosine changes: a static vector ignores the context"
    for name, changes in (("judgment", gold), ("cosine", cosines)):
        if not changes.any():
            return f"no {name} changes with the context"
    return None
