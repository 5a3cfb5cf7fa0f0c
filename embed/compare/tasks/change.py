"""Graded change: whether words change between periods as much as people say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from firth.corpora.text.spelling import fold
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.graded_change import GradedWord, looks_graded, read_graded
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.statistics.estimators import Correlation
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.similarity import why_undefined
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.change_table import WordChange, read_changes

_NO_CHANGE = "has no change of words"


@dataclass(frozen=True)
class ChangeTask(Task):
    """Words graded by change, scored by Spearman's correlation (SemEval-2020 Task 1)."""

    dataset: str  # name of the set
    words: Sequence[GradedWord]  # the set
    key = "change"
    skill = "change of words"
    looks = staticmethod(looks_graded)
    metrics: ClassVar = {
        "spearman": "rank correlation of distances between periods and human judgments of change",
        "spearman_pairs": "the same of mean distances of occurrences, which contextual has beside "
        "those of prototypes",
        "spearman_frequency": "the same of the change of frequency alone, which is no change of "
        "meaning",
    }

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "ChangeTask":
        """Read a set of graded words."""
        return cls(set_name(path), read_graded(path))

    def texts(self) -> Sequence[str]:
        """Return the words as they are most likely spelled in a text."""
        return [each.spellings[-1] for each in self.words]

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words, which only determine the frequency band."""
        return [(text,) for text in self.texts()]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray | None:
        """Return the words that a run compared, or None if it compared none."""
        # returns bool (n_items,) or None
        changes = _changes_of(vectors)
        if changes is None:
            return None
        return np.array([_find(changes, each) is not None for each in self.words], dtype=bool)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Correlate distances with judgments, those of pairs, and the change of frequency alone."""
        # items: bool (n_items,)
        changes, chosen = _changes_of(vectors) or {}, np.flatnonzero(items)
        found = [_find(changes, self.words[item]) or (0.0, [0], None) for item in chosen.tolist()]
        judged = np.array([self.words[item].score for item in chosen.tolist()])
        distances = np.array([distance for distance, *_ in found])
        counts = [n or [0] for _, n, _ in found]  # vectors without text have none
        ratios = np.array([abs(np.log((n[0] + 1) / (n[-1] + 1))) for n in counts])
        pairs = np.array([each for *_, each in found if each is not None])
        scored = {"spearman": distances, "spearman_pairs": pairs, "spearman_frequency": ratios}
        missing = None if changes else _NO_CHANGE
        return [
            self._measurement(
                metric,
                chosen,
                Correlation(judged, values, ranked=True),
                missing or why_undefined(judged, values, "word", "distances"),
                ranked=metric == "spearman",
            )
            for metric, values in scored.items()
            if len(pairs) or metric != "spearman_pairs"
        ]


def _changes_of(vectors: StaticVectors) -> Mapping[str, WordChange] | None:
    """Return the changes that a run stores."""
    path = getattr(vectors, "path", None)
    changes = None if path is None else read_changes(Path(path))
    if changes is None:
        return None
    return {fold(word): changes[word] for word in reversed(changes)} | changes


def _find(changes: Mapping[str, WordChange], word: GradedWord) -> WordChange | None:
    """Return the change of a word, by its first spelling that was compared."""
    spellings = [form for each in word.spellings for form in (each, each.lower(), fold(each))]
    return next((changes[form] for form in spellings if form in changes), None)
