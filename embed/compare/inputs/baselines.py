"""One-hot and random vectors over the vocabulary of the runs that are compared.

What a run's score is worth shows beside vectors that know nothing: with
one-hot vectors every word is like itself (cosine 1) and unlike all others
(cosine 0), with random ones words are alike by chance.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from corpora.common.errors import ArtifactError
from embed.compare.inputs.lookup import find_words
from embed.protocols import StaticVectors
from embed.vectors.onehot import one_hot, random_vectors
from embed.vectors.word_vectors import WordVectors

ONE_HOT = "one-hot"
RANDOM = "random"
_DIM = 300


def make_baselines(
    runs: Sequence[StaticVectors], texts: Iterable[str], restrict: int, seed: int
) -> dict[str, StaticVectors]:
    """Make the baselines of a comparison.

    An item is known to them when all runs know it, and, but for analogies beyond
    ``restrict``, when any run does. They hold the ``restrict`` most frequent words
    of the runs (first those of the sets that are among them in all, then by their
    best rank) and the words of the evaluation sets: no other word can change a score. A word that
    no run has in its vocabulary, but one composes of its n-grams, is outside
    their vocabulary, too, yet has a vector.
    """
    ranks: dict[str, int] = {}
    times: Counter[str] = Counter()
    known: dict[str, str] = {}
    composed: dict[str, None] = {}
    distinct = list(dict.fromkeys(texts))
    for run in runs:
        for rank, word in enumerate(islice(run.vocabulary, restrict)):
            ranks[word] = min(rank, ranks.get(word, rank))
        try:
            found = find_words(run, distinct)
        except ArtifactError:  # told of each set that it loses
            continue
        n_words = len(run.vocabulary)
        for text, rank in found.rows.items():
            if rank >= 0:
                seen = rank < n_words
                word = run.vocabulary[rank] if seen else found.unseen[rank - n_words]
                word = known.setdefault(text, word)
                times[text] += rank < restrict
                if seen:
                    ranks[word] = min(rank, ranks.get(word, rank))
                else:
                    composed[word] = None
    # first what all runs are asked, or it would not be asked here
    asked = {known[text] for text, n_runs in times.items() if n_runs == len(runs)}
    vocabulary = sorted(ranks, key=lambda word: (word not in asked, ranks[word]))
    words = [*vocabulary, *(word for word in composed if word not in ranks)]
    cut = _AsTheRuns(known)
    random = random_vectors(words, _DIM, seed, text=cut)
    return {
        ONE_HOT: _FirstRows(one_hot(words, text=cut), len(vocabulary)),
        RANDOM: _Chance(random, len(vocabulary)),
    }


@dataclass(frozen=True)
class _FirstRows:
    """Vectors of which only the first words are the vocabulary; the others have vectors alone."""

    vectors: WordVectors
    n_words: int

    @property
    def name(self) -> str:
        return self.vectors.name

    @cached_property
    def vocabulary(self) -> Sequence[str]:
        return self.vectors.vocabulary[: self.n_words]

    @cached_property
    def matrix(self) -> Any:
        return self.vectors.matrix[: self.n_words]

    def row(self, word: str) -> int | None:
        row = self.vectors.row(word)
        return row if row is not None and row < self.n_words else None

    def vector(self, word: str) -> np.ndarray | None:
        return self.vectors.vector(word)

    def words(self, text: str) -> list[str]:
        return self.vectors.words(text)


@dataclass(frozen=True)
class _Chance(_FirstRows):
    """Also a SentenceScorer, to which all sentences are alike: it chooses by a coin."""

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        return np.zeros(len(sentences))


@dataclass(frozen=True)
class _AsTheRuns:
    """Text settings that cut the words of evaluation sets as the first run that knows them."""

    known: Mapping[str, str]

    def words(self, text: str) -> list[str]:
        """The word as that run knows it; what no run knows stays unknown."""
        return [self.known[text]] if text in self.known else []
