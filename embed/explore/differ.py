"""Which words' neighborhoods differ between two runs, and whether by more than chance."""

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.common.options import many
from firth.corpora.store.concordance import require_at_least
from firth.corpora.text.spelling import spelled_row
from firth.embed.explore.chance import random_pairs
from firth.embed.formats.vector_files import load_vectors
from firth.embed.resampling.chance import BINS, ONE_DOCUMENT, pooled_p, typical
from firth.embed.resampling.drawn_text import top_shares
from firth.embed.runs.run import Run, corpus_at
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.search import largest, nonzero_rows, unit_matrix
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words, joined_rows, noun_of

_BLOCK = 1 << 23  # similarities at once
_CEILING = 0.01  # the least difference from 1, which a distance seldom exceeds
_ALIKE = 200  # words of similar frequency, whose distances are compared
_FEWEST = 5  # resamples that a word with a p is in, for a mean and a deviation


@dataclass(frozen=True)
class DifferingWord:
    """A word, and how its neighborhoods in two runs differ."""

    word: str
    count_a: int | None  # None if the vectors have no counts
    count_b: int | None
    distance: float  # 0 for equal neighborhoods; see distances
    usual: float | None  # the median of words as frequent; None without counts
    chance: float | None  # the word's typical distance by chance, the geometric mean
    p: float | None  # of a distance as large by chance
    q: float | None  # p corrected for the number of words
    share: float | None  # of a run's tokens, in the document that has most; None without a corpus
    one_document: bool | None  # whether that is half or more
    only_a: list[str]  # neighbors in the first run only, nearest first
    only_b: list[str]


@dataclass(frozen=True, repr=False)
class Differing(Table):
    """The words of two runs, those that differ most first."""

    words: list[DifferingWord]
    n_shared: int  # words compared
    k: int
    permutations: int
    no_chance: str | None  # why there is no p
    noun: str = "word"  # what output calls each
    _listed = ("words",)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)


def differ(
    a: WordVectors | str | Path,
    b: WordVectors | str | Path,
    *,
    words: Sequence[str] | None = None,
    top: int | None = None,
    k: int = 25,
    min_count: int = 1,
    permutations: int = 20,
    corpora: Sequence[str | Path] = (),
    seed: int = 1,
) -> Differing:
    """Sort the words of two runs by how much their neighborhoods differ.

    The distance of a word is that of Hamilton, Leskovec & Jurafsky 2016, "Cultural Shift or
    Linguistic Drift?", section 2.2: of the vectors of its cosines with the union of its k nearest
    neighbors in either run, 1 - cosine. Words that only one run has are neither compared nor
    neighbors. Rare words and words of few documents differ most by chance; so words are sorted by
    p, or without it by how much their distance exceeds what is usual for words as frequent. A
    word's distances by chance are standardized by their own mean and deviation (of log odds,
    d / (1 - d)), as is its distance among them, and p is its rank among those by chance of words
    of similar frequency. A word has no p if fewer than five permutations have it.

    Chance is measured by training again. If the runs have two corpora, their documents are dealt
    out at random to two parts of the same numbers, ``permutations`` times, and each part is trained
    on with the settings of its run: p tests whether the documents of both corpora are drawn alike.
    With one corpus, the two parts are random halves of it, each document taken twice so that words
    keep their counts, and both are trained on as the first run and again as the second, if that
    has other settings; the larger p counts. Halves have less text, so this p is too large rather
    than too small, and runs that differ by seed alone differ far less. Parts drawn with
    replacement (the bootstrap) would share documents and differ too little.

    Parameters
    ----------
    a, b : WordVectors, str or Path
        Two runs, or files of vectors.
    words : sequence of str, optional
        Return these instead of all; q is corrected for all shared words nevertheless.
    top : int, optional
        Return at most so many; not with ``words``.
    k : int
        Neighbors on each side.
    min_count : int
        Leave out words with fewer tokens in either run.
    permutations : int
        Pairs of runs to measure chance by, 5 or more; 0 for none. A single word can have q <= 0.05
        from 20 on.
    corpora : sequence of str or Path
        Where the corpora of the runs are, if they were moved; each is of one of the runs.
    seed : int
        Seed of the parts.

    Returns
    -------
    Differing
        ``words``, and ``no_chance``, the reason if the runs cannot be trained again, so that
        there is no p.

    Raises
    ------
    ArtifactError
        One of ``corpora`` is of neither run.
    SettingError
        The runs are the same one, or share too few words.
    UnknownWordError
        One of ``words`` is not shared.
    """
    if k < 1:  # the option is -k, not --k
        raise SettingError(f"k must be at least 1, got {k}")
    require_at_least(1, min_count=min_count, top=top)
    require_at_least(0, permutations=permutations, seed=seed)
    if 0 < permutations < _FEWEST:
        raise SettingError(f"`permutations` must be 0 or at least {_FEWEST}, got {permutations}")
    first, second = (v if isinstance(v, WordVectors) else load_vectors(v) for v in (a, b))
    if first is second or _place(a) == _place(b):
        raise SettingError(f"{first.name}: is compared with itself; pass two runs")
    compared = _Compared.of(first, second, k, min_count)
    runs = [Run.open(v.path) for v in (first, second) if v.path is not None]
    for place in corpora:
        corpus_at(place, runs).verify()
    asked = None
    if words is not None:
        index, kind = index_words(compared.words), f"shared {noun_of(first)}s"
        distinct = dict.fromkeys(many(words))
        asked = [spelled_row(word, index, kind, first.words) for word in distinct]

    def measure(one: WordVectors, other: WordVectors) -> np.ndarray:
        pair = _Compared.of(one, other, k, min_count)
        distances = dict(zip(pair.words, pair.distances.tolist(), strict=True))
        return np.array([distances.get(word, np.nan) for word in compared.words])

    numbers = np.full((3, len(compared.words)), np.nan)  # chance, p and q
    no_chance = None if permutations else "`permutations=0`"
    try:
        if permutations:
            options: Any = {"resamples": permutations, "seed": seed, "corpora": corpora}
            kinds = random_pairs(first, second, measure, **options)
            numbers = _larger([compared.tested(by_chance) for by_chance in kinds])
    except FirthError as error:
        no_chance = str(error)
    usual = compared.usual()
    excess = compared.distances - np.nan_to_num(usual)
    rows = np.lexsort((-excess, numbers[1]))[:top].tolist() if asked is None else asked
    shares = _top_shares(runs, [compared.words[row] for row in rows], corpora)
    shown = np.vstack([usual[rows], numbers[:, rows], shares]).T.tolist()
    return Differing(
        [compared.describe(row, own) for row, own in zip(rows, shown, strict=True)],
        n_shared=len(compared.words),
        k=k,
        permutations=permutations if no_chance is None else 0,
        no_chance=no_chance,
        noun=noun_of(first),
    )


def _place(run: WordVectors | str | Path) -> object:
    """Return where vectors are stored, or the vectors themselves if they are in memory only."""
    path = run.path if isinstance(run, WordVectors) else Path(run)
    return run if path is None else path.resolve()


def _top_shares(runs: Sequence[Run], words: list[str], corpora: Sequence[Any]) -> np.ndarray:
    """Return the largest share of each word's tokens in one document; NaN without a corpus."""
    shares = [np.full(len(words), np.nan)]
    for run in runs:
        with contextlib.suppress(FirthError):
            shares.append(top_shares(run.corpus(corpora).stored, words))
    return np.asarray(np.fmax.reduce(shares))


def _larger(kinds: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return chance, p and q of the words, by the kind of chance with the larger p, or without."""
    from scipy.stats import false_discovery_control  # slow to import

    every = np.array(kinds)  # by kind, and in it p and chance of each word
    p, chance = every[every[:, 0].argmax(axis=0), :, np.arange(every.shape[2])].T
    q, tested = np.full(len(p), np.nan), np.isfinite(p)
    q[tested] = false_discovery_control(p[tested])  # Benjamini & Hochberg 1995
    return np.stack([chance, p, q])


@dataclass(frozen=True, eq=False)
class _Compared:
    """The shared words of two runs, with their neighborhoods."""

    words: list[str]
    counts: list[np.ndarray | None]  # of either run, int64 (n,)
    distances: np.ndarray  # float64 (n,)
    nearest: list[np.ndarray]  # of either run, int64 (n, k)

    @classmethod
    def of(cls, a: WordVectors, b: WordVectors, k: int, min_count: int) -> "_Compared":
        """Compare the words that both runs have, with ``min_count`` tokens and a direction."""
        usable = [_usable(vectors, min_count) for vectors in (a, b)]
        rows = joined_rows(a, b, *usable)
        n = rows.shape[1]
        if n <= k:
            both = f"{a.name} and {b.name}"
            raise SettingError(f"{both} share {n:,} {noun_of(a)}s with vectors: too few for k={k}")
        units = [unit_matrix(v.matrix, r) for v, r in zip((a, b), rows, strict=True)]
        counts = [
            None if v.counts is None else np.asarray(v.counts)[r]
            for v, r in zip((a, b), rows, strict=True)
        ]
        words = list(a.vocabulary)
        return cls([words[row] for row in rows[0]], counts, *neighborhoods(units[0], units[1], k))

    @property
    def sizes(self) -> np.ndarray:
        """The harmonic mean of each word's counts, float64 (n,): the rarer side is the noisier."""
        a, b = self.counts
        assert a is not None
        assert b is not None
        return np.asarray(2 / (1 / a + 1 / b))

    def usual(self) -> np.ndarray:
        """Return the median distance of words as frequent as each; NaN without counts."""
        # returns float64 (n,)
        usual = np.full(len(self.words), np.nan)
        if all(each is not None for each in self.counts):
            n_bins = max(1, len(usual) // _ALIKE)
            for rows in np.array_split(np.argsort(self.sizes, kind="stable"), n_bins):
                usual[rows] = np.median(self.distances[rows])
        return usual

    def tested(self, by_chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p and the typical distance by chance of each word; NaN with too few resamples."""
        # by_chance: float64 (n, resamples), NaN without the word; returns two float64 (n,)
        p, chance = np.full((2, len(self.words)), np.nan)
        rows = np.flatnonzero(np.isfinite(by_chance).sum(axis=1) >= _FEWEST)
        distances = np.column_stack([self.distances, by_chance])[rows]
        odds = distances / np.maximum(1 - distances, _CEILING)  # logarithms of distances end at 0
        bins = min(BINS, by_chance.shape[1] // 20)  # so that one word can have q <= 0.05
        p[rows] = pooled_p(odds, self.sizes[rows], apart=True, most_bins=bins)
        chance[rows] = typical(distances[:, 1:])
        return p, chance

    def describe(self, row: int, numbers: Sequence[float]) -> DifferingWord:
        """Return what is known of one word; ``numbers`` are usual, chance, p, q and share."""
        count_a, count_b = (None if each is None else int(each[row]) for each in self.counts)
        usual, chance, p, q, share = (None if np.isnan(number) else number for number in numbers)
        a, b = (each[row].tolist() for each in self.nearest)
        return DifferingWord(
            word=self.words[row],
            count_a=count_a,
            count_b=count_b,
            distance=float(self.distances[row]),
            usual=usual,
            chance=chance,
            p=p,
            q=q,
            share=share,
            one_document=None if share is None else share >= ONE_DOCUMENT,
            only_a=[self.words[near] for near in a if near not in b],
            only_b=[self.words[near] for near in b if near not in a],
        )


def _usable(vectors: WordVectors, min_count: int) -> np.ndarray:
    """Return which words have a direction and enough tokens, bool (V,)."""
    if not is_dense(vectors.matrix):
        raise SettingError(f"{vectors.name}: has sparse vectors, which are not compared")
    usable = nonzero_rows(vectors.matrix)
    if min_count > 1 and vectors.counts is None:
        raise SettingError(f"{vectors.name}: has no counts, which `min_count` needs")
    return usable if vectors.counts is None else usable & (np.asarray(vectors.counts) >= min_count)


def neighborhoods(
    a: np.ndarray, b: np.ndarray, k: int, *, block: int = _BLOCK
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distance of each row's neighborhoods in two spaces, and both, nearest first."""
    # a, b: float32 (n, D) and (n, E), unit length, same words
    # returns float64 (n,) and two int64 (n, k)
    n, step = len(a), max(1, block // len(a))
    distances = np.empty(n)
    nearest = [np.empty((n, k), np.int64) for _ in range(2)]
    for start in range(0, n, step):
        stop = min(start + step, n)
        cosines = [units[start:stop] @ units.T for units in (a, b)]
        for each, found in zip(cosines, nearest, strict=True):
            each[np.arange(stop - start), np.arange(start, stop)] = -np.inf  # the word itself
            found[start:stop] = largest(each, k)
        union = np.sort(np.concatenate([found[start:stop] for found in nearest], axis=1), axis=1)
        once = np.diff(union, axis=1, prepend=-1) > 0
        x, y = (np.where(once, np.take_along_axis(each, union, 1), 0.0) for each in cosines)
        lengths = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
        products = (x * y).sum(axis=1)
        distances[start:stop] = 1 - products / np.where(lengths > 0, lengths, 1.0)
    return np.maximum(distances, 0.0), nearest
