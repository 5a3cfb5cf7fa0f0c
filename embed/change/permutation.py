"""Distances of words by chance: their documents dealt out to the periods at random.

A word keeps its number of tokens in each period, so that a change of frequency alone is no change
(Dubossarsky, Weinshall & Grossman 2017, "Outta Control"), and its documents stay whole, so that a
name of one document has a large distance by chance. The context vectors are held fixed.
"""

import itertools
import queue
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.change.joint import JointSpace
from firth.embed.change.periods import PeriodText
from firth.embed.svd.inverted_text import invert
from firth.embed.svd.train import SvdConfig
from firth.embed.svd.window_weights import count_type, window_weights

MOST_BLOCKS = 512  # of documents that are dealt out together
_ENTRIES = 1 << 22  # counts of one word at once: 16 MB
_LOGS = 1 << 16
_TOKENS = 1 << 15  # of words that a thread measures between two reports of progress


@dataclass(frozen=True, eq=False)
class DealtText:
    """The text of all periods, grouped by word, with the block of each position."""

    text: np.ndarray  # uint16 or uint32 (n,), with separators
    positions: np.ndarray  # int32 (n,), by word
    starts: np.ndarray  # int64 (n_words + 3,)
    blocks: np.ndarray  # uint16 (n,), of the text
    periods: np.ndarray  # int16 (n_blocks,)


def dealt_text(
    texts: Sequence[PeriodText], n_words: int, threads: int, most: int = MOST_BLOCKS
) -> DealtText:
    """Lay out the text of all periods; successive documents share a block if there are many."""
    from firth.embed.svd.cooccurrence_kernels import lay_out

    kind: Any = np.uint16 if n_words + 1 < 1 << 16 else np.uint32
    size = sum(text.n_tokens for text in texts) / most
    laid_out, blocks = [np.full(1, n_words + 1, kind)], [np.zeros(1, np.uint16)]
    periods: list[int] = []
    for period, text in enumerate(texts):
        bounds = _block_bounds(text, size).tolist()
        for first, stop in itertools.pairwise(bounds):
            offsets = text.offsets[first : stop + 1]
            part = np.empty(int(offsets[-1] - offsets[0]) + len(offsets), kind)
            part = part[: lay_out(text.rows, offsets, n_words + 1, part)]
            laid_out.append(part)
            blocks.append(np.full(len(part), len(periods), np.uint16))
            periods.append(period)
    ids = np.concatenate(laid_out)
    positions, starts = invert(ids, n_words + 2, threads)
    return DealtText(ids, positions, starts, np.concatenate(blocks), np.array(periods, np.int16))


def _block_bounds(text: PeriodText, size: float) -> np.ndarray:
    """Return at which parts blocks of whole documents of about ``size`` tokens start, and end."""
    # returns int64 (n_blocks + 1,)
    starts = np.flatnonzero(np.diff(text.documents, prepend=-1))  # parts that begin a document
    numbers = text.offsets[starts] // max(size, 1.0)
    firsts = starts[np.flatnonzero(np.diff(numbers, prepend=-1))]
    return np.append(firsts, len(text.documents))


def permuted_distances(
    dealt: DealtText,
    space: JointSpace,
    words: np.ndarray,
    svd: SvdConfig,
    *,
    permutations: int,
    seed: int,
    entries: int = _ENTRIES,
) -> np.ndarray:
    """Return the distance of words between the first and last period, as it is and by chance.

    The first column is of the periods as they are.
    """
    # words: int64 (n,), rows; returns float32 (n, 1 + permutations)
    from threadpoolctl import threadpool_limits

    threads = thread_count(svd.threads)
    measure = _Measure(dealt, space, svd, permutations, seed, entries, threads)
    work = np.diff(dealt.starts)[words] + 50
    distances = np.empty((len(words), 1 + permutations), np.float32)

    def of_range(span: tuple[int, int]) -> tuple[tuple[int, int], list[np.ndarray]]:
        return span, [measure.distances(int(word)) for word in words[slice(*span)]]

    with threadpool_limits(1, user_api="blas"), progress("permuting", "words") as show:
        show(0, len(words))
        for span, found in map_in_order(of_range, even_ranges(work, _TOKENS), threads):
            distances[slice(*span)] = found
            show(span[1], len(words))
    return distances


class _Measure:
    """Measures single words, in any thread."""

    def __init__(
        self,
        dealt: DealtText,
        space: JointSpace,
        svd: SvdConfig,
        permutations: int,
        seed: int,
        entries: int,
        threads: int,
    ) -> None:
        self._dealt, self._space, self._entries = dealt, space, entries
        n_words, n_blocks = len(space.keep), len(dealt.periods)
        self._n_periods = int(dealt.periods.max()) + 1
        weights, _ = window_weights(svd.window, svd.window_weighting)
        kind = count_type(np.diff(dealt.starts)[:n_words], weights)
        self._weights = np.array(weights, kind)
        generator = np.random.default_rng(seed)
        orders = [generator.permutation(n_blocks) for _ in range(permutations)]
        self._orders = np.array(orders, np.uint16).reshape(permutations, n_blocks)
        with np.errstate(divide="ignore"):
            self._log_factors = np.log(space.factors)  # -inf for words that are no contexts
            self._logs = np.log(np.arange(_LOGS)).astype(np.float32)
        self._separator = n_words + 1
        self._scratch: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(threads):
            rows = np.full(n_words, -1, np.int32)
            contexts = np.empty(n_words, np.int32)
            self._scratch.put((rows, contexts, np.empty(0, kind), np.empty(0, np.float32)))

    def distances(self, word: int) -> np.ndarray:
        """Return the distance of a word as it is, and in each permutation, float32 (1 + P,)."""
        from firth.embed.change.permutation_kernels import deal

        dealt = self._dealt
        positions = dealt.positions[dealt.starts[word] : dealt.starts[word + 1]]
        blocks = dealt.blocks[positions]
        tokens = np.bincount(dealt.periods[blocks], minlength=self._n_periods)
        labels = np.empty((1 + len(self._orders), len(dealt.periods)), np.int16)
        labels[0] = dealt.periods
        deal(blocks, self._orders, tokens, labels[1:])
        capacity = min(len(self._space.keep), 2 * len(self._weights) * len(positions))
        step = max(1, self._entries // (capacity * self._n_periods))
        return np.concatenate(
            [
                self._measured(positions, blocks, labels[first : first + step], capacity)
                for first in range(0, len(labels), step)
            ]
        )

    def _measured(
        self, positions: np.ndarray, blocks: np.ndarray, labels: np.ndarray, capacity: int
    ) -> np.ndarray:
        """Return the distances for some rows of labels, float32 (J,)."""
        from firth.embed.change.permutation_kernels import count_dealt, weigh_dealt

        of_period = labels.T[:, None, :] == np.arange(self._n_periods)[:, None]  # (B, K, J)
        masks = -of_period.reshape(labels.shape[1], -1).astype(np.int64)
        width = masks.shape[1]
        scratch = self._scratch.get()
        rows, contexts, counts, values = scratch
        if len(counts) < capacity * width:
            counts = np.empty(capacity * width, counts.dtype)
            values = np.empty(capacity * width, values.dtype)
        table = counts[: capacity * width].reshape(capacity, width)
        n = count_dealt(
            self._dealt.text, positions, blocks, self._separator, self._weights,
            masks.astype(counts.dtype), rows, contexts, table,
        )  # fmt: skip
        weighed = values[: n * width].reshape(n, width)
        weigh_dealt(
            table[:n], contexts[:n], self._space.keep, self._log_factors, self._logs, weighed
        )
        vectors = weighed.T @ self._space.basis[contexts[:n]]
        self._scratch.put((rows, contexts, counts, values))
        periods = vectors.reshape(self._n_periods, len(labels), -1)
        return cosine_distances(periods[0], periods[-1])


def cosine_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 - cosine of the rows of two arrays; 1 where one is zero."""
    # a, b: float32 (n, D); returns float64 (n,)
    products = np.einsum("nd,nd->n", a, b)
    lengths = np.sqrt(np.einsum("nd,nd->n", a, a) * np.einsum("nd,nd->n", b, b))
    cosines = np.divide(products, lengths, where=lengths > 0, out=np.zeros_like(products))
    return np.clip(1 - cosines, 0, 2, dtype=np.float64)
