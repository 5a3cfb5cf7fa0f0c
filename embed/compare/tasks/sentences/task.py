"""Labeling sentences with probes on pooled vectors, by the mean or by attention."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import thread_time
from typing import Any, ClassVar

import numpy as np

from firth.corpora.common.errors import require_torch
from firth.corpora.common.reporting import note
from firth.embed.compare.config import DELTA, HIERARCHICAL, POOLINGS, CompareConfig
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.labeled_sentences import (
    read_sentence_parts,
    recognize_sentences,
)
from firth.embed.compare.datasets.parts import TEST, TRAIN
from firth.embed.compare.inputs.baselines import DeltaBaseline
from firth.embed.compare.inputs.encoder_access import encoder_of, static_note
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.probes.attention_pooling import TrainedAttention
from firth.embed.compare.probes.examples import source_note
from firth.embed.compare.probes.progress import steps
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.sentences.delta import LONG, predict_delta
from firth.embed.compare.tasks.sentences.folds import groups_of, read_folds
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.compare.tasks.sentences.pooling_probes import PooledSentences, pool_sentences
from firth.embed.compare.tasks.tagging.inputs import likely_parts
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD

_SUFFIXES = ("", "_attention", "_attention_margin", "_hierarchical")
_METRICS = {name: f"accuracy{end}" for name, end in zip(POOLINGS, _SUFFIXES, strict=True)}


@dataclass(frozen=True, eq=False)
class SentencesTask(Task):
    """Labeled sentences; an item is one of the test part, or of a file to cross-validate."""

    dataset: str  # name of the set
    folds: Sequence[SentenceSet]  # divisions of the same sentences; one if the set has parts
    layers: bool  # whether all layers of an encoder and its static vectors are scored as well
    by: str = ""  # the column of groups
    poolings: tuple[str, ...] = ()  # rows of their own, as if of several runs
    key = "sentences"
    deals_folds = True
    skill = "labels of sentences"
    metrics: ClassVar = {
        "accuracy": "share of sentences labeled right from the mean of their word vectors",
        "accuracy_attention": "the same from a weighted mean with trained weights",
        "accuracy_attention_margin": "the same trained with a margin between labels",
        "accuracy_hierarchical": "from weighted means of sentences, which are those of their words",
    }
    several_files = True
    zero_if_unknown = True

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize columns or JSON keys with names for labels and texts, or labels in front."""
        return recognize_sentences(head)

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SentencesTask":
        """Read the parts of a set, or a file to divide into folds, printing notes."""
        if "," in str(path):
            parts = read_sentence_parts(str(path), fine=config.fine_labels, groups=config.groups)
            folds = [SentenceSet(parts, config.seed)]
            notes = [*folds[0].training_notes(), *folds[0].test_notes()]
        else:
            folds, notes = read_folds(path, config), []
            parts = folds[0].parts
        require_torch(f"{parts.name}: a probe")
        if any(part.n_finer for part in parts.given):
            labels = parts.train.labels
            notes.insert(
                0,
                f"{len(set(labels)):,} coarse labels, such as {labels[0]!r}; "
                "CompareConfig(fine_labels=True) predicts the fine ones",
            )
        for text in notes:
            note(f"{parts.name}: {text}")
        return cls(parts.name, folds, config.sections, config.groups, tuple(config.poolings))

    def __repr__(self) -> str:
        """Name everything that measurements depend on, for the cache."""
        folds = [fold.fingerprint() for fold in self.folds]
        return (
            f"SentencesTask({self.dataset!r}, {folds}, {self.layers}, {self.by!r}, {self.poolings})"
        )

    @cached_property
    def places(self) -> np.ndarray:
        """The number of each item among all sentences, int64 (n_items,), ascending."""
        return np.sort(np.concatenate([fold.places(TEST) for fold in self.folds]))

    @property
    def n_items(self) -> int:
        """Number of sentences that are scored."""
        return len(self.places)

    @cached_property
    def own_baseline(self) -> str:
        """Burrows' Delta, if texts are long enough for it."""
        texts = self.folds[0].texts
        return DELTA if sum(len(text.split()) for text in texts) >= LONG * len(texts) else ""

    @cached_property
    def _tried(self) -> list[str]:
        """The poolings to score; of texts with one sentence two levels of attention are one."""
        shown = [n for n in POOLINGS if n != HIERARCHICAL or self.folds[0].several]
        return [*self.poolings] or shown

    def texts(self) -> Iterable[str]:
        """Return all white-space tokens, and the parts they may be split into."""
        tokens = dict.fromkeys(token for text in self.folds[0].texts for token in text.split())
        return list(dict.fromkeys(t for token in tokens for t in (token, *likely_parts(token))))

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of each item, or its punctuation if there are none."""
        cut = [self.folds[0].texts[place].split() for place in self.places.tolist()]
        return [[t for t in tokens if any(map(str.isalnum, t))] or tokens for tokens in cut]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Train probes, score every fold by mean and by attention, and print the time taken."""
        # items: bool (n_items,)
        if isinstance(vectors, DeltaBaseline):
            return [self._delta(np.flatnonzero(items))]
        started, text = thread_time(), ""
        # by pooling and section: bool (n_items,)
        right: dict[tuple[str, str | None], np.ndarray] = {}
        composed, zero, by_chance = np.zeros((3, self.n_items), dtype=bool)
        with ONE_THREAD:
            for fold, pooled in pool_sentences(vectors, self.folds, static_too=self.layers):
                trained = {
                    name: pooled.train_attention(fold, name)
                    for name in steps([n for n in self._tried if n != "mean"])
                }
                test = fold.places(TEST)
                at = np.searchsorted(self.places, test)
                for key, predicted in self._predictions(fold, pooled, trained).items():
                    of_key = right.setdefault(key, np.zeros(self.n_items, dtype=bool))
                    of_key[at] = predicted == fold.labels[test]
                composed[at] = pooled.inputs.with_any(pooled.inputs.composed)[test]
                zero[at] = pooled.inputs.with_any(pooled.inputs.zero)[test]
                by_chance[at] = fold.right_by_chance(test)
                if fold is self.folds[0]:
                    text = self._note_text(vectors, pooled, trained)
        name = getattr(vectors, "name", "vectors")
        note(f"{name} on {self.dataset}: {thread_time() - started:.0f} s on one core")
        chosen = np.flatnonzero(items)
        of_groups = self._groups(chosen)
        return [
            self._measurement(
                "accuracy" if self.poolings else _METRICS[pooling],
                chosen,
                Means(found[chosen]),
                None if len(chosen) else "no sentence is scored",
                section=section,
                items_composed=0 if section else int(composed[chosen].sum()),
                items_zero=0 if section else int(zero[chosen].sum()),
                note=text,
                **of_groups,
                pooling=pooling if self.poolings else "",
                chance=float(by_chance[chosen].mean()) if len(chosen) and not section else None,
            )
            for (pooling, section), found in right.items()
        ]

    def _delta(self, chosen: np.ndarray) -> Measurement:
        """Return the accuracy of Burrows' Delta on some items."""
        # chosen: int64 (n,)
        right = np.zeros(self.n_items, dtype=bool)
        for fold in self.folds:
            test = fold.places(TEST)
            right[np.searchsorted(self.places, test)] = predict_delta(fold) == fold.labels[test]
        reason = None if len(chosen) else "no sentence is scored"
        of_groups = self._groups(chosen)
        return self._measurement("accuracy", chosen, Means(right[chosen]), reason, **of_groups)

    def _groups(self, chosen: np.ndarray) -> dict[str, Any]:
        """Return the groups of some items as units of resampling, and what the JSON tells."""
        groups = [name for part in self.folds[0].parts.given for name in part.groups]
        named = [groups[place] for place in self.places[chosen]] if groups else []
        units, grouped = groups_of(named, self.by, len(self.folds))
        return {"units": units if groups else None, "grouped": grouped}

    def _predictions(
        self, fold: SentenceSet, pooled: PooledSentences, trained: Mapping[str, TrainedAttention]
    ) -> dict[tuple[str, str | None], np.ndarray]:
        """Return the predictions for the test part, by pooling and section."""
        # values: int64 (n_test,)
        bags = pooled.labeled(fold, TEST).bags
        found: dict[tuple[str, str | None], np.ndarray] = {}
        if "mean" in self._tried:
            means = {source: probe.predictions for source, probe in pooled.means.items()}
            found["mean", None] = means[pooled.source]
            if self.layers and len(means) > 1:
                found |= {("mean", source): predicted for source, predicted in means.items()}
        return found | {(n, None): each.network.predict(bags) for n, each in trained.items()}

    def _note_text(
        self,
        vectors: StaticVectors,
        pooled: PooledSentences,
        trained: Mapping[str, TrainedAttention],
    ) -> str:
        """Return a note on training data, chosen hyperparameters and long sentences."""
        first = self.folds[0]
        several = f"{len(self.folds)} folds; the first: " if len(self.folds) > 1 else ""
        text = (
            f"{several}trained on {len(first.places(TRAIN)):,} sentences with "
            f"{len(first.classes):,} labels; "
            f"{source_note(pooled.source)}weight decay {pooled.means[pooled.source].decay:g} for "
            "means"
        )
        for name, probe in trained.items():
            way = f"with a margin of {probe.margin:g}" if probe.margin else f"for {name}"
            way += " attention" * (name == HIERARCHICAL)
            text += f", learning rate {probe.rate:g} in {probe.epochs} epochs {way}"
        encoder = encoder_of(vectors)
        if encoder is None:
            return static_note(vectors) + text
        long = long_sentence_note(encoder, pooled.words)
        return text if long is None else f"{text}; {long}"
