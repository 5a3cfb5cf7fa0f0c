"""Distances of words by chance: their documents dealt out to the periods at random.

A word keeps its number of tokens in each period, so that a change of frequency alone is no change
(Dubossarsky, Weinshall & Grossman 2017, "Outta Control"), and its documents stay whole, so that a
name of one document has a large distance by chance. The context vectors are held fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.change.periods import PeriodText
from firth.embed.resampling.drawn_rows import (
    ENTRIES,
    ContextSpace,
    DrawnRows,
    UnitText,
    unit_text,
)
from firth.embed.svd.train import SvdConfig

MOST_BLOCKS = 512  # of documents that are dealt out together
_TOKENS = 1 << 15  # of words that a thread measures between two reports of progress


@dataclass(frozen=True, eq=False)
class DealtText:
    """The text of all periods, grouped by word, in blocks of documents."""

    text: UnitText
    periods: np.ndarray  # int16 (n_blocks,)
    strata: np.ndarray  # int64 (n_blocks,)


def dealt_text(
    texts: Sequence[PeriodText],
    n_words: int,
    threads: int,
    most: int = MOST_BLOCKS,
    strata: np.ndarray | None = None,
) -> DealtText:
    """Lay out the text of all periods; successive documents of a stratum may share a block."""
    # strata: int64 (n_documents,); None if there is one
    size = max(sum(text.n_tokens for text in texts) / most, 1.0)
    parts, periods, strata_of_blocks = [], [], []
    n_blocks = 0
    for period, text in enumerate(texts):
        documents, numbers = np.unique(text.documents, return_inverse=True)
        tokens = np.bincount(numbers, np.diff(text.offsets)).astype(np.int64)
        kinds = np.zeros(len(documents), np.int64) if strata is None else strata[documents]
        blocks, first_of_blocks = _blocks(tokens, kinds, size)
        of_parts = (n_blocks + blocks[numbers]).astype(np.int32)
        parts.append((text.rows, text.offsets, np.repeat(of_parts, np.diff(text.offsets))))
        strata_of_blocks.append(kinds[first_of_blocks])
        periods.append(np.full(len(first_of_blocks), period, np.int16))
        n_blocks += len(first_of_blocks)
    return DealtText(
        unit_text(parts, n_words, n_blocks, threads), np.concatenate(periods),
        np.concatenate(strata_of_blocks),
    )  # fmt: skip


def _blocks(tokens: np.ndarray, strata: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the block of each document, within its stratum, and the first of each block."""
    # tokens, strata: int64 (n_documents,); returns int64 (n_documents,) and (n_blocks,)
    order = np.argsort(strata, kind="stable")
    numbers = (np.cumsum(tokens[order]) - tokens[order]) // size
    begins = (np.diff(numbers, prepend=-1) != 0) | (np.diff(strata[order], prepend=-1) != 0)
    blocks = np.empty(len(tokens), np.int64)
    blocks[order] = np.cumsum(begins) - 1
    return blocks, order[begins]


def permuted_distances(
    dealt: DealtText,
    space: ContextSpace,
    words: np.ndarray,
    svd: SvdConfig,
    *,
    permutations: int,
    seed: int,
    entries: int = ENTRIES,
) -> np.ndarray:
    """Return distances of words between the first and last period: as they are, then by chance."""
    # words: int64 (n,), rows; returns float32 (n, 1 + permutations)
    from threadpoolctl import threadpool_limits

    threads = thread_count(svd.threads)
    measure = _Measure(dealt, space, svd, permutations, seed, entries, threads)
    work = dealt.text.counts[words] + 50
    done = np.cumsum(work)
    distances = np.empty((len(words), 1 + permutations), np.float32)

    def of_range(span: tuple[int, int]) -> tuple[tuple[int, int], list[np.ndarray]]:
        return span, [measure.distances(int(word)) for word in words[slice(*span)]]

    with threadpool_limits(1, user_api="blas"), progress("permuting", "tokens") as show:
        show(0, work.sum())
        for span, found in map_in_order(of_range, even_ranges(work, _TOKENS), threads):
            distances[slice(*span)] = found
            show(done[span[1] - 1], work.sum())
    return distances


class _Measure:
    """Measures single words, in any thread."""

    def __init__(
        self,
        dealt: DealtText,
        space: ContextSpace,
        svd: SvdConfig,
        permutations: int,
        seed: int,
        entries: int,
        threads: int,
    ) -> None:
        self._dealt = dealt
        self._rows = DrawnRows(dealt.text, space, svd, threads, entries=entries)
        n_blocks = len(dealt.periods)
        self._n_periods = int(dealt.periods.max()) + 1
        generator = np.random.default_rng(seed)
        strata = np.unique(dealt.strata)
        groups = [np.flatnonzero(dealt.strata == stratum) for stratum in strata]
        self._ends = np.cumsum([len(group) for group in groups])
        self._strata = np.searchsorted(strata, dealt.strata)
        orders = [[generator.permutation(group) for group in groups] for _ in range(permutations)]
        self._orders = np.array([np.concatenate(order) for order in orders], dealt.text.units.dtype)
        self._orders = self._orders.reshape(permutations, n_blocks)

    def distances(self, word: int) -> np.ndarray:
        """Return the distance of a word as it is, and in each permutation, float32 (1 + P,)."""
        from firth.embed.change.permutation_kernels import deal

        blocks, periods = self._dealt.text.units_of(word), self._dealt.periods
        tokens = np.zeros((len(self._ends), self._n_periods), np.int64)
        np.add.at(tokens, (self._strata[blocks], periods[blocks]), 1)
        labels = np.empty((1 + len(self._orders), len(periods)), np.int16)
        labels[0] = periods
        deal(blocks, self._orders, self._ends, tokens, labels[1:])
        used = np.unique(blocks)  # labels of others are not written
        ends = [period == labels[:, used].T for period in (0, self._n_periods - 1)]
        copies = np.zeros((len(periods), 2 * len(labels)), self._rows.kind)
        copies[used] = np.concatenate(ends, axis=1)
        return cosine_distances(*np.split(self._rows.vectors(word, copies), 2))


def cosine_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 - cosine of the rows of two arrays; 1 where one is zero."""
    # a, b: float32 (n, D); returns float64 (n,)
    products = np.einsum("nd,nd->n", a, b)
    lengths = np.sqrt(np.einsum("nd,nd->n", a, a) * np.einsum("nd,nd->n", b, b))
    cosines = np.divide(products, lengths, where=lengths > 0, out=np.zeros_like(products))
    return np.clip(1 - cosines, 0, 2, dtype=np.float64)
