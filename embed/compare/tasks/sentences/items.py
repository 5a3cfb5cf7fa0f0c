"""A set of labeled sentences, divided into training, development and test part."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.corpora.common.console import counted
from firth.corpora.text.sentences.split import split_sentences
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences
from firth.embed.compare.datasets.parts import DEV, HELD_OUT, TEST, TRAIN
from firth.embed.compare.tasks.labeled_set import LabeledSet


@dataclass(frozen=True, eq=False)
class SentenceSet(LabeledSet[LabeledSentences]):
    """Labeled sentences; with ``fold``, TEST are those sentences of the training file."""

    fold: np.ndarray | None = None  # bool (n_train,)

    @cached_property
    def texts(self) -> list[str]:
        """Every sentence as its file writes it."""
        return [text for part in self.parts.given for text in part.texts]

    @cached_property
    def several(self) -> bool:
        """Whether the texts to learn from have two sentences or more on average."""
        texts = self.parts.train.texts
        return sum(len(split_sentences(text)) for text in texts) >= 2 * len(texts)

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The sentences of every text, which is one sentence unless texts have several."""
        return [split_sentences(text) if self.several else [text] for text in self.texts]

    @cached_property
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each sentence, int64 (n_sentences,)."""
        train, *dev, test = (part.n_sentences for part in self.parts.given)
        train_roles = (
            np.full(train, TRAIN) if self.fold is None else np.where(self.fold, TEST, TRAIN)
        )
        if not dev:
            train_roles[self._held_out()] = DEV
        return np.concatenate([train_roles, np.full(sum(dev), DEV), np.full(test, TEST)])

    @cached_property
    def classes(self) -> list[str]:
        """The labels of TRAIN, sorted: what a probe can predict."""
        labels = self.parts.train.labels
        return sorted({labels[place] for place in self._learning()})

    def training_notes(self) -> Iterator[str]:
        """Yield notes on DEV: labels that TRAIN lacks, and sentences that it shares with TRAIN."""
        if self.parts.dev is not None:
            yield from self._notes("development", self.parts.dev, {"training": self.parts.train})

    def test_notes(self) -> Iterator[str]:
        """Yield the same notes on TEST, against TRAIN and DEV."""
        parts = self.parts
        others = {"training": parts.train, "development": parts.dev}
        yield from self._notes(
            "test", parts.test, {n: p for n, p in others.items() if p is not None}
        )

    def _notes(
        self, role: str, part: LabeledSentences, others: Mapping[str, LabeledSentences]
    ) -> Iterator[str]:
        """Yield notes on labels unseen in training, and on sentences shared with other parts."""
        if unseen := self.unseen_note(part, f"sentences of the {role} part"):
            yield unseen
        for other, other_part in others.items():
            also = f"of the {role} part [is|are] also in the {other} part"
            other_texts = set(other_part.texts)
            if n_repeated := sum(text in other_texts for text in part.texts):
                yield counted(n_repeated, f"sentence[|s] {also}")
            if n_groups := len({*part.groups} & {*other_part.groups}):
                yield counted(n_groups, f"group[|s] {also}")

    def _held_out(self) -> np.ndarray:
        """Return a tenth of TRAIN, never the first-drawn sentence of a label."""
        learning = self._learning()
        n_train = len(learning)
        order = learning[np.random.default_rng([self.seed, n_train]).permutation(n_train)]
        first = np.unique(self.labels[order], return_index=True)[1]
        n_dev = max(1, n_train // HELD_OUT)
        if names := self.parts.train.groups:  # whole groups, in the order of their first sentence
            of_order = np.array(names)[order]
            _, start, group = np.unique(of_order, return_index=True, return_inverse=True)
            free = ~np.isin(start[group], start[group][first])
            if free.any():
                last = np.sort(start[group][free])[:n_dev][-1]
                return order[free & (start[group] <= last)]
        return np.delete(order, first)[:n_dev]

    def _learning(self) -> np.ndarray:
        """Return the sentences of the training file that are not TEST."""
        # returns int64 (n,), ascending
        n_train = self.parts.train.n_sentences
        return np.arange(n_train) if self.fold is None else np.flatnonzero(~self.fold)
