"""Cross-validation of labeled sentences in one file, the form of MR, CR and Subj."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corpora.common.errors import SourceError
from corpora.common.reporting import note
from embed.compare.config import CompareConfig
from embed.compare.datasets.labeled_sentences import LabeledSentences, read_training_parts
from embed.compare.datasets.parts import Parts, set_name
from embed.compare.probes.progress import steps
from embed.compare.statistics.estimators import Means
from embed.compare.task import Measurement, Task
from embed.compare.tasks.sentences.items import SentenceSet
from embed.compare.tasks.sentences.task import SentencesTask, note_coarse
from embed.protocols import StaticVectors


@dataclass(frozen=True, eq=False)
class FoldedSentences:
    """Labeled sentences without parts; each is scored by probes trained on the other folds.

    An item is a sentence, in file order. Within each fold a tenth of its training sentences is held
    out to choose hyperparameters.
    """

    dataset: str  # name of the set
    texts_read: tuple[str, ...]  # every sentence as the file writes it
    folds: Sequence[SentencesTask]  # each with one fold as its test part
    members: Sequence[np.ndarray]  # int64 (n,): the sentences of each fold, ascending

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> Task:
        """Read a file and divide it into folds, stratified by label and drawn by the seed.

        Several files, joined by commas, are the parts of a :class:`SentencesTask`.
        """
        if "," in str(path):
            return SentencesTask.read(path, config)
        every, _ = read_training_parts([path], fine=config.fine_labels)
        if every.n_sentences < 2 * config.folds:
            raise SourceError(
                f"{path}: contains {every.n_sentences:,} sentences, too few for "
                f"`folds={config.folds}`; pass fewer, or TRAIN,TEST"
            )
        name = set_name(path)
        note_coarse(name, every, config)
        note(f"{name}: no test part, so cross-validation with {config.folds} folds")
        numbers = fold_numbers(every.labels, config.folds, config.seed)
        members = [np.flatnonzero(numbers == fold) for fold in range(config.folds)]
        folds = [
            SentencesTask(
                name, SentenceSet(_parts(name, every, numbers == fold), config.seed), False
            )
            for fold in range(config.folds)
        ]
        return cls(name, every.texts, folds, members)

    def __repr__(self) -> str:
        """Name everything that measurements depend on, for the cache."""
        return f"FoldedSentences({list(self.folds)!r})"

    @property
    def n_items(self) -> int:
        """Number of sentences."""
        return len(self.texts_read)

    def texts(self) -> Iterable[str]:
        """Return all white-space tokens, and the parts they may be split into."""
        return self.folds[0].texts()

    def items(self) -> Iterable[Sequence[str]]:
        """Return the words of each sentence, or its punctuation if there are none."""
        found: list[Sequence[str]] = [()] * self.n_items
        for fold, members in zip(self.folds, self.members, strict=True):
            for place, words in zip(members.tolist(), fold.items(), strict=True):
                found[place] = words
        return found

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return all sentences."""
        # returns bool (n_items,)
        return np.ones(self.n_items, dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Train and score every fold, and join its items in file order."""
        # items: bool (n_items,)
        found = [
            fold.measure(vectors, items[members], unknown)
            for fold, members in steps(list(zip(self.folds, self.members, strict=True)))
        ]
        return [self._joined(column) for column in zip(*found, strict=True)]

    def _joined(self, parts: Sequence[Measurement]) -> Measurement:
        """Return one metric of all folds."""
        items = np.concatenate([m[part.items] for m, part in zip(self.members, parts, strict=True)])
        values = [part.statistic.values for part in parts if isinstance(part.statistic, Means)]
        order = np.argsort(items)
        chances = [(part.chance or 0.0) * len(part.items) for part in parts]
        return replace(
            parts[0],
            dataset=self.dataset,
            items=items[order],
            items_total=self.n_items,
            statistic=Means(np.concatenate(values)[order]) if values else None,
            reason=None if values else parts[0].reason,
            items_composed=sum(part.items_composed for part in parts),
            items_zero=sum(part.items_zero for part in parts),
            note=f"{len(parts)} folds; the first: {parts[0].note}",
            chance=float(sum(chances) / len(items)) if len(items) else None,
        )


def fold_numbers(labels: Sequence[str], folds: int, seed: int) -> np.ndarray:
    """Deal the sentences of each label, shuffled, to the folds in turn.

    Sizes of folds, and of each label in them, differ by one at most.
    """
    # returns int64 (n,)
    _, kinds = np.unique(np.array(labels, dtype=object), return_inverse=True)
    shuffled = np.random.default_rng([seed, folds]).permutation(len(labels))
    dealt = shuffled[np.argsort(kinds[shuffled], kind="stable")]
    numbers = np.empty(len(labels), np.int64)
    numbers[dealt] = np.arange(len(labels)) % folds
    return numbers


def _parts(name: str, every: LabeledSentences, test: np.ndarray) -> Parts[LabeledSentences]:
    """Return the sentences of one fold as the test part, and the others as the training part."""

    def chosen(which: np.ndarray) -> LabeledSentences:
        places = np.flatnonzero(which).tolist()
        texts, labels = every.texts, every.labels
        return LabeledSentences(tuple(texts[p] for p in places), tuple(labels[p] for p in places))

    return Parts(name, chosen(~test), chosen(test), None)
