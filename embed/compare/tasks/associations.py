"""Association bias: are the words of one list nearer to some attributes than those of another?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.association_tests import MIN_WORDS, AssociationTest, read_associations
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import finite_units
from embed.compare.statistics.effect_size import A, EffectSize, X, Y, permutation_p
from embed.compare.task import Measurement
from embed.compare.tasks.word_task import Asked, WordTask
from embed.protocols import StaticVectors

_SPREAD = 1e-12  # associations closer than this differ by rounding alone


@dataclass(frozen=True)
class AssociationTask(WordTask):
    """Word embedding association tests, each scored by its effect size.

    Caliskan, Bryson and Narayanan 2017, "Semantics derived automatically from language corpora
    contain human-like biases", Science 356: 183-186. An item is a word of any of the four
    lists of a test: a test is asked with those of its words that have a vector.
    """

    # the set; a single test is the whole set, of several each is a section
    tests: Sequence[AssociationTest]
    seed: int  # of the divisions that are drawn for a p, together with the names of set and test
    task = "association"

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "AssociationTask":
        """Read a set of association tests."""
        return cls(set_name(path), read_associations(path), config.seed)

    def items(self) -> Sequence[Sequence[str]]:
        """List the words of all lists, test by test, each by itself."""
        return [(word,) for test in self.tests for each in test.lists for word in each.words]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Measure the ``effect_size`` of each test, with ``p`` and ``coverage``.

        It is undefined where a list has fewer than two words left.
        """
        asked = self._ask(vectors, items, unknown)
        return [self._of_test(vectors, asked, test, first) for test, first in self._numbered()]

    def _numbered(self) -> Iterator[tuple[AssociationTest, int]]:
        """Each test with the number of its first item."""
        first = 0
        for test in self.tests:
            yield test, first
            first += sum(len(each.words) for each in test.lists)

    def _of_test(
        self, vectors: StaticVectors, asked: Asked, test: AssociationTest, first: int
    ) -> Measurement:
        """The effect size of one test."""
        sizes = [len(each.words) for each in test.lists]
        lists = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
        inside = (asked.items >= first) & (asked.items < first + len(lists))
        own, chosen = asked.take(inside), lists[asked.items[inside] - first]
        statistic = _effect_size(vectors, own.places[:, 0], chosen, own.composed)
        used = np.bincount(chosen, minlength=len(sizes)).tolist()
        reason = _too_few(test, used) or _all_alike(statistic)
        return self._measured(
            own,
            "effect_size",
            statistic,
            reason,
            section=None if len(self.tests) == 1 else test.name,
            items_total=len(lists),
            first=first,
            ranked=False,
            p=self._p(statistic, test) if reason is None else None,
            coverage={
                each.name: [n_used, size]
                for each, n_used, size in zip(test.lists, used, sizes, strict=True)
            },
        )

    def _p(self, statistic: EffectSize, test: AssociationTest) -> float:
        """How often chance gives the same words so large an effect."""
        found, lists = _associations(statistic), statistic.lists[statistic.lists < A]
        key = repr((self.seed, self.dataset, test.name))
        return permutation_p(found[lists == X], found[lists == Y], key)


def _effect_size(
    vectors: StaticVectors, places: np.ndarray, lists: np.ndarray, composed: Any
) -> EffectSize:
    """Cosines of the target words with the attribute words."""
    units = finite_units(vectors, places, composed)
    cosines = units[lists < A] @ units[lists >= A].T
    return EffectSize(cosines if isinstance(cosines, np.ndarray) else cosines.toarray(), lists)


def _too_few(test: AssociationTest, used: Sequence[int]) -> str | None:
    """Say of which list too few words are left, if of any."""
    for each, n_used in zip(test.lists, used, strict=True):
        if n_used < MIN_WORDS:
            left = f"{n_used} of {len(each.words)} words of {each.name!r}"
            return f"{left} can be used, fewer than {MIN_WORDS}"
    return None


def _all_alike(statistic: EffectSize) -> str | None:
    """Say that no target word is nearer to the one side than another, if so."""
    return (
        "all target words are associated alike"
        if np.ptp(_associations(statistic)) < _SPREAD
        else None
    )


def _associations(statistic: EffectSize) -> np.ndarray:
    """The association of each target word, every attribute word counted once."""
    return statistic.associations(np.ones((1, statistic.n_items)))[0]
