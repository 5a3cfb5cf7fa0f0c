"""One-hot and random vectors over the vocabulary of the runs that are compared.

What a run's score is worth shows beside vectors that know nothing: with
one-hot vectors every word is like itself (cosine 1) and unlike all others
(cosine 0), with random ones words are alike by chance.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from embed.compare.tasks import find_rows
from embed.onehot import one_hot, random_vectors
from embed.protocols import StaticVectors

ONE_HOT = "one-hot"
RANDOM = "random"
_DIM = 300


def make_baselines(
    runs: Sequence[StaticVectors], texts: Iterable[str], restrict: int, seed: int
) -> dict[str, StaticVectors]:
    """Make the baselines of a comparison.

    An item is known to them when any run knows it. They hold the ``restrict``
    most frequent words of the runs (by their best rank in any run) and the
    words of the evaluation sets: no other word can change a score.

    Parameters
    ----------
    runs : sequence of StaticVectors
        What is compared, at least one.
    texts : iterable of str
        Words of all evaluation sets as these write them.
    restrict : int
        Candidates of analogy questions.
    seed : int
        Of the random vectors.

    Returns
    -------
    dict of str to StaticVectors
        ``one-hot``, sparse, and ``random``, standard normal of 300 dimensions.
    """
    ranks: dict[str, int] = {}
    known: dict[str, str] = {}
    distinct = list(dict.fromkeys(texts))
    for run in runs:
        for rank, word in enumerate(islice(run.vocabulary, restrict)):
            ranks[word] = min(rank, ranks.get(word, rank))
        for text, rank in find_rows(run, distinct).items():
            if rank >= 0:
                word = known.setdefault(text, run.vocabulary[rank])
                ranks[word] = min(rank, ranks.get(word, rank))
    vocabulary = sorted(ranks, key=ranks.__getitem__)
    cut = _AsTheRuns(known)
    return {
        ONE_HOT: one_hot(vocabulary, text=cut),
        RANDOM: random_vectors(vocabulary, _DIM, seed, text=cut),
    }


@dataclass(frozen=True)
class _AsTheRuns:
    """Text settings that cut the words of evaluation sets as the first run that knows them."""

    known: Mapping[str, str]

    def words(self, text: str) -> list[str]:
        """The word as that run knows it; what no run knows stays unknown."""
        return [self.known[text]] if text in self.known else []
