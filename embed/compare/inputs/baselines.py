"""One-hot and random vectors over the vocabulary of the compared runs.

These baselines carry no information about words: with one-hot vectors every word has cosine 1 with
itself and 0 with all others; with random vectors cosines are due to chance.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.hashing import STRIDE, mix
from firth.embed.compare.config import DELTA, POOLINGS
from firth.embed.compare.inputs.lookup import find_words
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.word_vectors import WordVectors

ONE_HOT = "one-hot"
RANDOM = "random"
POPULAR = "popularity"
_ROWS = [f"{name} {pooling}" for name in (ONE_HOT, RANDOM) for pooling in POOLINGS]
OF_TASKS = (POPULAR, DELTA)  # each of one kind of sets alone
BASELINES = (ONE_HOT, RANDOM, *OF_TASKS, *_ROWS)
_DIM = 300
_BLOCK_FLOATS = 1 << 20


def make_baselines(
    runs: Sequence[StaticVectors], texts: Iterable[str], restrict: int, seed: int
) -> dict[str, StaticVectors]:
    """Make the baselines of a comparison.

    Their words are those of the sets and the ``restrict`` most frequent of the runs, first the
    sets' words that are so in every run: they cover an item if all runs do. A word that some run
    only composes is outside their vocabulary, but has a vector.
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
        except ArtifactError:  # reported for each set by the evaluation
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
    # words that all runs have within the limit come first, to be within the limit here too
    in_all_runs = {known[text] for text, n_runs in times.items() if n_runs == len(runs)}
    vocabulary = sorted(ranks, key=lambda word: (word not in in_all_runs, ranks[word]))
    words = [*vocabulary, *(word for word in composed if word not in ranks)]
    divide = runs[0].words if runs else lambda text: [text]
    segmentation = _RunSegmentation(known, divide)
    unit_vectors = one_hot(words, text=segmentation)
    random = random_vectors(words, _DIM, seed, text=segmentation)
    counts = _counts_of(runs, vocabulary)
    return {
        ONE_HOT: _Baseline(unit_vectors, counts),
        RANDOM: _RandomBaseline(random, counts),
        POPULAR: PopularityBaseline(unit_vectors, counts),
        DELTA: DeltaBaseline(unit_vectors, counts),
    }


def _counts_of(runs: Sequence[StaticVectors], words: Sequence[str]) -> np.ndarray:
    """Return the counts of words in the first run that has any; 0 of words that it lacks."""
    for run in runs:
        if (counts := getattr(run, "counts", None)) is not None and counts.any():
            rows = [run.row(word) for word in words]
            return np.array([0 if row is None else counts[row] for row in rows], np.int64)
    return np.zeros(len(words), np.int64)


class _Baseline(WordVectors):
    """Vectors whose first words are the vocabulary; the others have vectors but no rows."""

    def __init__(self, every: WordVectors, counts: np.ndarray) -> None:
        words, matrix = every.vocabulary[: len(counts)], every.matrix[: len(counts)]
        super().__init__(words, matrix, text=every.text, name=every.name)
        self._every, self.text_counts = every, counts

    def vector(self, word: str) -> np.ndarray | None:
        return self._every.vector(word)


class PopularityBaseline(_Baseline):
    """Stands for the most frequent answers of a set, by each metric that it has."""


class DeltaBaseline(_Baseline):
    """Stands for Burrows' Delta, which needs no vectors."""


class _RandomBaseline(_Baseline):
    """Also a SentenceScorer that gives all sentences the same score, so that all pairs tie."""

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        return np.zeros(len(sentences))

    def score_words(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> list[np.ndarray]:
        return [np.zeros(len(words)) for words in sentences]


@dataclass(frozen=True)
class _RunSegmentation:
    """Text settings that divide text as a run does, so that one-hot vectors have a chance.

    A text of a set that is one word to some run is that of the first one with a vector.
    """

    known: Mapping[str, str]
    divide: Callable[[str], list[str]]
    of_tokens: ClassVar = False  # texts are already spelled as the run spells them

    def words(self, text: str) -> list[str]:
        """Return the run's word, or else the words into which the first run divides a text."""
        return [self.known[text]] if text in self.known else self.divide(text)


def one_hot(vocabulary: Sequence[str], *, text: Any = None) -> WordVectors:
    """Return one-hot vectors: each word has its own dimension."""
    import scipy.sparse

    matrix = scipy.sparse.identity(len(vocabulary), dtype=np.float32, format="csr")
    return WordVectors(vocabulary, matrix, text=text, name="one-hot")


def random_vectors(
    vocabulary: Sequence[str], dim: int, seed: int, *, text: Any = None
) -> WordVectors:
    """Draw each vector from a standard normal distribution, keyed by (seed, word) alone."""
    key = seed.to_bytes(8, "little")
    hashes = [
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for word in vocabulary
    ]
    keys = np.frombuffer(b"".join(hashes), "<u8")
    matrix = np.empty((len(keys), dim), np.float32)
    step = max(1, _BLOCK_FLOATS // dim)
    for start in range(0, len(keys), step):
        matrix[start : start + step] = _normal(keys[start : start + step], dim)
    return WordVectors(vocabulary, matrix, text=text, name="random")


def _normal(keys: np.ndarray, dim: int) -> np.ndarray:
    """Return normal deviates (n, D), by Box-Muller from one uniform stream per key."""
    half = (dim + 1) // 2
    counters = np.arange(2 * half, dtype=np.uint64) * STRIDE
    # 53 random bits plus half a step, so that the logarithm is finite
    uniform = ((mix(keys[:, None] + counters) >> np.uint64(11)) + 0.5) * 2.0**-53
    radius = np.sqrt(-2.0 * np.log(uniform[:, :half]))
    angle = 2.0 * np.pi * uniform[:, half:]
    return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)), axis=1)[:, :dim]
