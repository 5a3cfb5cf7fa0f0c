"""Association tests: whether two lists of words differ in their similarity to attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.association_tests import (
    MIN_WORDS,
    AssociationTest,
    looks_like_associations,
    read_associations,
)
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.statistics.effect_size import A, EffectSize, X, Y, permutation_p
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.word_task import ItemRows, WordTask
from firth.embed.protocols import StaticVectors

_SPREAD = 1e-12  # associations closer than this differ only by rounding


@dataclass(frozen=True)
class AssociationTask(WordTask):
    """Word embedding association tests, scored by effect size (Caliskan et al. 2017)."""

    # several tests are sections; a single one is the whole set
    tests: Sequence[AssociationTest]
    seed: int  # of the permutations for p, together with the names of set and test
    key = "association"
    skill = "associations"
    metrics: ClassVar = {
        "effect_size": "how much more one list of words is associated with the first attributes; "
        "neither sign is better",
    }

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize lines that name targets and attributes, or such keys in JSON."""
        return Match.CERTAIN if looks_like_associations(head) else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "AssociationTask":
        """Read a set of association tests."""
        return cls(set_name(path), read_associations(path), config.seed)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the words of all lists, test by test, one per item."""
        return [(word,) for test in self.tests for each in test.lists for word in each.words]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Measure the ``effect_size`` of each test of two known words a list, with p."""
        found = self._look_up(vectors, items, unknown)
        return [self._of_test(vectors, found, test, first) for test, first in self._numbered()]

    def _numbered(self) -> Iterator[tuple[AssociationTest, int]]:
        """Yield each test with the number of its first item."""
        first = 0
        for test in self.tests:
            yield test, first
            first += sum(len(each.words) for each in test.lists)

    def _of_test(
        self, vectors: StaticVectors, found: ItemRows, test: AssociationTest, first: int
    ) -> Measurement:
        """Return the effect size of one test."""
        sizes = [len(each.words) for each in test.lists]
        lists = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
        inside = (found.items >= first) & (found.items < first + len(lists))
        own, chosen = found.take(inside), lists[found.items[inside] - first]
        units = finite_units(vectors, own.places[:, 0], own.composed)
        cosines = units[chosen < A] @ units[chosen >= A].T
        cosines = cosines if isinstance(cosines, np.ndarray) else cosines.toarray()
        statistic = EffectSize(cosines, chosen)
        used = np.bincount(chosen, minlength=len(sizes)).tolist()
        reason = _too_few(test, used)
        if reason is None and np.ptp(_associations(statistic)) < _SPREAD:
            reason = "all target words have the same association"
        return self._measurement(
            "effect_size",
            own.items,
            statistic,
            reason,
            section=None if len(self.tests) == 1 else test.name,
            items_total=len(lists),
            first=first,
            ranked=False,
            **own.counts,
            p=self._p(statistic, test) if reason is None else None,
            coverage={
                each.name: [n_used, size]
                for each, n_used, size in zip(test.lists, used, sizes, strict=True)
            },
        )

    def _p(self, statistic: EffectSize, test: AssociationTest) -> float:
        """Return the permutation p-value of one test."""
        found, lists = _associations(statistic), statistic.lists[statistic.lists < A]
        key = repr((self.seed, self.dataset, test.name))
        return permutation_p(found[lists == X], found[lists == Y], key)


def _too_few(test: AssociationTest, used: Sequence[int]) -> str | None:
    """Return which list has too few known words, or None."""
    for each, n_used in zip(test.lists, used, strict=True):
        if n_used < MIN_WORDS:
            left = f"{n_used} of {len(each.words)} words of {each.name!r}"
            return f"{left} can be used, fewer than {MIN_WORDS}"
    return None


def _associations(statistic: EffectSize) -> np.ndarray:
    """Return the association of each target word, counting every attribute word once."""
    return statistic.associations(np.ones((1, statistic.n_items)))[0]
