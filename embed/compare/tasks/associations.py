"""Association bias: are the words of one list nearer to some attributes than those of another?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets.association_tests import LEAST, AssociationTest, read_associations
from embed.compare.datasets.parts import set_name
from embed.compare.inputs.lookup import FoundWords, find_words, finite_units, has_zero
from embed.compare.statistics.effect_size import A, EffectSize, X, Y, permutation_p
from embed.compare.task import Measured
from embed.protocols import StaticVectors

_SPREAD = 1e-12  # associations closer than this differ by rounding alone


@dataclass(frozen=True)
class AssociationTask:
    """Word embedding association tests, each scored by its effect size.

    Caliskan, Bryson and Narayanan 2017, "Semantics derived automatically from language corpora
    contain human-like biases", Science 356: 183-186. An item is a word of any of the four
    lists of a test: a test is asked with those of its words that have a vector.

    Attributes
    ----------
    dataset : str
        Name of the set.
    tests : sequence of AssociationTest
        The set; a single test is the whole set, of several each is a section.
    seed : int
        Of the divisions that are drawn for a p, together with the names of set and test.
    """

    dataset: str
    tests: Sequence[AssociationTest]
    seed: int

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "AssociationTask":
        """Read a set of association tests.

        Parameters
        ----------
        path : Path
            The file; see :func:`~embed.compare.datasets.association_tests.read_associations`.
        config : CompareConfig
            Of its options the seed matters here.

        Returns
        -------
        AssociationTask
            Ready to score.
        """
        return cls(set_name(path), read_associations(path), config.seed)

    @property
    def n_items(self) -> int:
        """How many words there are in all lists of all tests."""
        return len(self._words)

    def texts(self) -> Iterable[str]:
        """List the words of all lists as the file writes them."""
        return self._words

    def items(self) -> Iterable[Sequence[str]]:
        """List the words, each by itself.

        Returns
        -------
        iterable of sequence of str
            As the file writes them.
        """
        return [(word,) for word in self._words]

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Tell the words that have a vector, or something in its place.

        Parameters
        ----------
        vectors : StaticVectors
            What to look in.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        bool (n_items,)
            True for each such word.
        """
        return self._find(vectors, unknown).places(self._words) >= 0

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measured]:
        """Measure the effect size of each test.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse.
        items : bool (n_items,)
            The words to take, all of them known.
        unknown : str
            What becomes of unknown words: one of UNKNOWN.

        Returns
        -------
        list of Measured
            Metric ``effect_size``, a test at a time, with ``p`` and ``coverage``; undefined
            where a list has fewer than two words left.

        Raises
        ------
        ArtifactError
            A vector holds NaN or infinity.
        """
        found = self._find(vectors, unknown)
        places = found.places(self._words)
        return [
            self._measured(vectors, found, places, test, first, items)
            for test, first in self._numbered()
        ]

    @cached_property
    def _words(self) -> list[str]:
        """The words of all lists, test by test."""
        return [word for test in self.tests for each in test.lists for word in each.words]

    def _numbered(self) -> Iterator[tuple[AssociationTest, int]]:
        """Each test with the number of its first item."""
        first = 0
        for test in self.tests:
            yield test, first
            first += sum(len(each.words) for each in test.lists)

    def _find(self, vectors: StaticVectors, unknown: str) -> FoundWords:
        """The words of the set as the vectors know them."""
        return find_words(vectors, self._words, unknown)

    def _measured(
        self,
        vectors: StaticVectors,
        found: FoundWords,
        places: np.ndarray,
        test: AssociationTest,
        first: int,
        items: np.ndarray,
    ) -> Measured:
        """The effect size of one test."""
        sizes = [len(each.words) for each in test.lists]
        lists = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
        chosen = np.flatnonzero(items[first : first + len(lists)])
        asked = places[first + chosen]
        sample = _effect_size(vectors, asked, lists[chosen], found.composed)
        used = np.bincount(lists[chosen], minlength=len(sizes)).tolist()
        reason = _too_few(test, used) or _all_alike(sample)
        return Measured(
            task="association",
            dataset=self.dataset,
            metric="effect_size",
            section=None if len(self.tests) == 1 else test.name,
            items=first + chosen,
            items_total=len(lists),
            first=first,
            sample=sample if reason is None else None,
            reason=reason,
            items_composed=int(found.has_composed(asked[:, None]).sum()),
            items_zero=int(has_zero(vectors, asked[:, None]).sum()),
            ranked=False,
            p=self._p(sample, test) if reason is None else None,
            coverage={
                each.name: [n_used, size]
                for each, n_used, size in zip(test.lists, used, sizes, strict=True)
            },
        )

    def _p(self, sample: EffectSize, test: AssociationTest) -> float:
        """How often chance gives the same words so large an effect."""
        found, lists = _associations(sample), sample.lists[sample.lists < A]
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
        if n_used < LEAST:
            left = f"{n_used} of {len(each.words)} words of {each.name!r}"
            return f"{left} can be used, fewer than {LEAST}"
    return None


def _all_alike(sample: EffectSize) -> str | None:
    """Say that no target word is nearer to the one side than another, if so."""
    return (
        "all target words are associated alike" if np.ptp(_associations(sample)) < _SPREAD else None
    )


def _associations(sample: EffectSize) -> np.ndarray:
    """The association of each target word, every attribute word counted once."""
    return sample.associations(np.ones((1, sample.n_items)))[0]
