"""Labels and ratings of words or sequences, predicted by linear probes and cross-validated."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from firth.corpora.common.errors import SourceError, require_torch
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import file_and_column
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.labeled_sentences import (
    LabeledSentences,
    recognize_sentences,
)
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.word_tables import WordTable, looks_labeled, looks_rated
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.inputs.sequence_sums import SequenceTokens
from firth.embed.compare.probes.vector_probes import (
    dense,
    label_scores,
    likeliest,
    out_of_fold,
    ranks_within,
    ridge,
)
from firth.embed.compare.statistics.estimators import Correlation, Means, Statistic
from firth.embed.compare.statistics.roc import RocArea
from firth.embed.compare.statistics.span_f1 import Ratios
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.sentences.folds import fold_count, fold_numbers, groups_of
from firth.embed.compare.tasks.sentences.inputs import state_means, words_read
from firth.embed.compare.tasks.similarity import DIGITS, METRICS, why_undefined
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.compare.tasks.words_in_context import pooled_layers
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD

_MOST_COLUMNS = 2_000  # of one-hot sums: the tokens of most sequences; ridge takes their cube
_Metrics = Iterator[tuple[str, Statistic, str | None, float | None]]  # with reason and chance


@dataclass(frozen=True)
class _DescribedWords(WordTask):
    """Words with what is predicted of them; the words of a group are in one fold."""

    words: Sequence[str]  # as the file writes them
    values: Sequence[Any]  # of each word: its labels or its rating
    groups: Sequence[str]
    folds: int
    seed: int
    of_sequences: bool = False  # each word is a sequence of tokens, cut as a run's corpus is
    by: str = ""  # the column of groups
    bounded = False
    deals_folds = True
    probe: ClassVar[Any]  # of training rows, what they have and new rows, to what these have

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize a header that names words and labels or numbers, but not labeled sentences."""
        certain = cls.looks(head) and recognize_sentences(head) is not Match.CERTAIN
        return Match.CERTAIN if certain else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> Self:
        """Read a table, or a column of it."""
        file, column = file_and_column(path)
        require_torch(f"{path}: a probe")
        table = WordTable.read(file, config.groups)
        words, values, groups = cls._read(path, table)
        name = f"{set_name(file)}:{column}" if column else set_name(file)
        folds = fold_count(path, groups, table.group, config.folds)
        return cls(name, words, values, groups, folds, config.seed, table.of_sequences, table.group)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words, one per item."""
        return [(word,) for word in self.words]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The fold of each word, int64 (n_items,); the first labels are in all folds alike."""
        first = tuple(each[0] if isinstance(each, tuple) else "" for each in self.values)
        return fold_numbers(LabeledSentences(tuple(self.groups), first), self.folds, self.seed)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Predict the words of each fold from the others."""
        chosen = np.flatnonzero(items)
        table, counts = self.table(vectors, items, unknown)
        gold, numbers = self.gold_of(chosen.tolist()), self.numbers[chosen]
        with ONE_THREAD:
            predicted, usual = out_of_fold(self.probe, table, gold, numbers)
        units, grouped = groups_of(
            [self.groups[item] for item in chosen.tolist()], self.by, self.folds
        )
        return [
            self._measurement(
                metric, chosen, statistic, reason, chance=chance,
                units=units, grouped=grouped, **counts,
            )
            for metric, statistic, reason, chance in self._metrics(gold, predicted, usual, numbers)
        ]  # fmt: skip

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the words that have a vector, or the sequences with a token that has one."""
        if not self.of_sequences:
            return super().known(vectors, unknown)
        return SequenceTokens(vectors, self.words, unknown).known

    def table(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return a row for each word or sequence, and what its measurement tells of them."""
        # items: bool (n_items,); returns float64 (n, D)
        if not self.of_sequences:
            found = self._look_up(vectors, items, unknown)
            return dense(finite_units(vectors, found.places[:, 0], found.composed)), found.counts
        texts = [self.words[item] for item in np.flatnonzero(items).tolist()]
        encoder = encoder_of(vectors)
        if encoder is None:
            tokens = SequenceTokens(vectors, texts, unknown)
            n_composed = int(tokens.composed.sum())
            return dense(tokens.sums(), _MOST_COLUMNS), {"items_composed": n_composed}
        read, layers = (
            [words_read(encoder, text) for text in texts],
            pooled_layers(vectors, encoder),
        )
        lengths = np.array([len(words) for words in read])
        note = f"sums of states of layers {', '.join(map(str, layers))}"
        return state_means(encoder, read, layers) * lengths[:, None], {"note": note}

    @classmethod
    @abstractmethod
    def _read(cls, path: Path, table: WordTable) -> tuple[list[str], list[Any], list[str]]: ...

    @abstractmethod
    def gold_of(self, items: list[int]) -> np.ndarray:
        """Return what is to be predicted of items: bool (n, L), or float64 (n,) ratings."""

    @abstractmethod
    def _metrics(
        self, gold: np.ndarray, predicted: np.ndarray, usual: np.ndarray, folds: np.ndarray
    ) -> _Metrics: ...


@dataclass(frozen=True)
class LabelsTask(_DescribedWords):
    """Words with labels, predicted by logistic regression; as many for a word as it has."""

    key = "labels"
    looks = staticmethod(looks_labeled)
    skill = "labels of words"
    probe = staticmethod(label_scores)
    metrics: ClassVar = {
        "accuracy": "share of words labeled right",
        "micro_f1": "F1 over all labels of all words, as many predicted for a word as it has",
        "macro_f1": "mean over labels of F1",
        "auc": "mean over labels of the area under the ROC curve",
    }

    @classmethod
    def _read(cls, path: Path, table: WordTable) -> tuple[list[str], list[Any], list[str]]:
        """Collect the labels of each word from all its lines."""
        labels: dict[str, list[str]] = {}
        cells = [table.columns[name] for name in table.named(path, table.labels)]
        for word, *given in zip(table.words, *cells, strict=True):
            labels.setdefault(word, []).extend(filter(None, given))
        words = [word for word, given in labels.items() if given]
        groups = dict(zip(table.words, table.groups, strict=True))
        values = [tuple(dict.fromkeys(labels[word])) for word in words]
        if (n_labels := len(set().union(*values))) > len(words):
            raise SourceError(
                f"{path}: has {n_labels:,} labels of {len(words):,} words; name the column of "
                f"labels, as FILE:COLUMN ({', '.join(table.columns)})"
            )
        return words, values, [groups[word] for word in words]

    def gold_of(self, items: list[int]) -> np.ndarray:
        """Return which of the labels of all of them items have, in alphabetical order."""
        names = sorted({label for item in items for label in self.values[item]})
        gold = [[name in self.values[item] for name in names] for item in items]
        return np.array(gold, dtype=bool).reshape(len(items), len(names))

    def _metrics(
        self, gold: np.ndarray, predicted: np.ndarray, usual: np.ndarray, folds: np.ndarray
    ) -> _Metrics:
        reason, once = None, np.ones((1, len(gold)), dtype=np.uint8)
        if gold.all():
            reason = "all known words have the same labels" if len(gold) else "no word is known"
        elif gold.sum(axis=0).max() < 2:
            reason = "each label is of one known word"
        several = any(len(labels) > 1 for labels in self.values)
        by_chance = _label_statistics(gold, usual, several)
        for name, statistic in _label_statistics(gold, predicted, several).items():
            chance = None if reason else float(by_chance[name].evaluate(once)[0])
            yield name, statistic, reason, chance
        if several or gold.shape[1] == 2:
            predicted = ranks_within(folds, predicted)
            yield "auc", RocArea(gold, predicted), reason, None if reason else 0.5


def _label_statistics(gold: np.ndarray, scores: np.ndarray, several: bool) -> dict[str, Statistic]:
    """Return accuracy or micro F1, and macro F1, of the likeliest labels."""
    # gold: bool (n, L); scores: float64 (n, L)
    answers = likeliest(scores, gold.sum(axis=1))
    right, both = 2 * (gold & answers), gold.astype(int) + answers
    macro: dict[str, Statistic] = {"macro_f1": Ratios(right, both)}
    if several:
        return {"micro_f1": Ratios(right.sum(axis=1), both.sum(axis=1))} | macro
    return {"accuracy": Means((gold & answers).any(axis=1))} | macro


@dataclass(frozen=True)
class RatingsTask(_DescribedWords):
    """Words with a number each, predicted by ridge regression."""

    key = "ratings"
    looks = staticmethod(looks_rated)
    skill = "ratings of words"
    probe = staticmethod(ridge)
    metrics: ClassVar = {
        "spearman": "rank correlation of predicted and given ratings",
        "pearson": "linear correlation of predicted and given ratings",
        "r2": "share of the squared error of the mean rating that predictions save",
    }

    @classmethod
    def split(cls, path: Path, config: CompareConfig) -> list[Path]:
        """Return each rating of a file as ``FILE:COLUMN``."""
        file, _ = file_and_column(path)
        table = WordTable.read(file, config.groups)
        return [Path(f"{file}:{name}") for name in table.named(path, table.ratings)]

    @classmethod
    def _read(cls, path: Path, table: WordTable) -> tuple[list[str], list[Any], list[str]]:
        """Leave out words without a rating."""
        cells = table.columns[table.named(path, table.ratings)[0]]
        rated = [place for place, cell in enumerate(cells) if cell]
        scores = [table.rows[n]._replace(fields=[cells[n]]).score(0) for n in rated]
        return [table.words[n] for n in rated], scores, [table.groups[n] for n in rated]

    def gold_of(self, items: list[int]) -> np.ndarray:
        """Return the ratings of items."""
        return np.array([self.values[item] for item in items])

    def _metrics(
        self, gold: np.ndarray, predicted: np.ndarray, usual: np.ndarray, folds: np.ndarray
    ) -> _Metrics:
        # less the mean: it is the lower, the higher the ratings are that are left out
        moved = (predicted - usual).round(DIGITS)
        reason = why_undefined(gold, moved, "word", "predictions")
        for name, ranked in METRICS.items():
            yield name, Correlation(gold, moved, ranked=ranked), reason, None
        errors = (gold - usual) ** 2
        saved = Ratios(errors - (gold - predicted) ** 2, errors)
        yield "r2", saved, None if errors.any() else reason, None
