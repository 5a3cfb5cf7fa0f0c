"""Vectors of single words in draws of the text, in a space whose contexts are held fixed."""

import queue
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.embed.svd.inverted_text import invert
from firth.embed.svd.window_weights import count_type, window_weights

ENTRIES = 1 << 22  # counts of one word at once: 16 MB
_LOGS = 1 << 16
_MOST = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class ContextSpace:
    """What maps a row of counts into a space of word vectors."""

    basis: np.ndarray  # float32 (V, D): V S^(p-1)
    keep: np.ndarray  # float64 (V,): subsampling of contexts
    factors: np.ndarray  # float64 (V,): PMI is log(count * factor / sum of count * keep)


@dataclass(frozen=True, eq=False)
class UnitText:
    """A text grouped by word, with the unit of each position, such as its document."""

    text: np.ndarray  # uint16 or uint32 (n,), with separators
    positions: np.ndarray  # int32 (n,), by word
    starts: np.ndarray  # int64 (n_words + 3,)
    units: np.ndarray  # uint16 or uint32 (n,), of the text
    n_units: int

    @property
    def counts(self) -> np.ndarray:
        """Occurrences of each word that has contexts, int64 (n_words,)."""
        return np.diff(self.starts)[:-2]

    def units_of(self, word: int) -> np.ndarray:
        """Return the unit of each occurrence of a word."""
        return self.units[self.positions[self.starts[word] : self.starts[word + 1]]]


def unit_text(
    parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
    n_words: int,
    n_units: int,
    threads: int,
) -> UnitText:
    """Lay out parts of a text: their words, the bounds of windows, and the unit of each token."""
    from firth.embed.svd.cooccurrence_kernels import lay_out

    # parts: rows int32 (n,), offsets int64 (m + 1,), units int32 (n,)
    word_type: Any = np.uint16 if n_words + 1 < 1 << 16 else np.uint32
    unit_type: Any = np.uint16 if n_units < 1 << 16 else np.uint32
    texts, all_units = [np.full(1, n_words + 1, word_type)], [np.zeros(1, unit_type)]
    for rows, offsets, units in parts:
        part, kinds = (np.empty(len(rows) + len(offsets), t) for t in (word_type, np.uint32))
        texts.append(part[: lay_out(rows, offsets, n_words + 1, part)])
        kinds = kinds[: lay_out(units, offsets, _MOST, kinds)]
        kinds[kinds == _MOST] = 0  # separators, which are of no unit
        all_units.append(kinds.astype(unit_type))
    text = np.concatenate(texts)
    positions, starts = invert(text, n_words + 2, threads)
    return UnitText(text, positions, starts, np.concatenate(all_units), n_units)


class DrawnRows:
    """Counts, weighs and folds in the rows of single words, in any thread."""

    def __init__(
        self, text: UnitText, space: ContextSpace, svd: Any, threads: int, *,
        entries: int = ENTRIES,
    ) -> None:  # fmt: skip
        self._text, self._space, self._entries = text, space, entries
        n_words = len(space.keep)
        weights, _ = window_weights(svd.window, svd.window_weighting)
        self.kind = count_type(text.counts, weights)
        self._weights = np.array(weights, self.kind)
        with np.errstate(divide="ignore"):
            # -inf for words that are no contexts
            self._log_factors = np.log(space.factors) - np.log(svd.shift)
            self._logs = np.log(np.arange(_LOGS)).astype(np.float32)
        self._separator = n_words + 1
        self._scratch: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(threads):
            rows = np.full(n_words, -1, np.int32)
            contexts = np.empty(n_words, np.int32)
            self._scratch.put((rows, contexts, np.empty(0, self.kind), np.empty(0, np.float32)))

    def vectors(self, word: int, copies: np.ndarray) -> np.ndarray:
        """Return the vector of a word in each draw, float32 (J, D); zeros where it is missing."""
        # copies: (n_units, J), of the type ``kind``: how often each unit is in each draw
        text = self._text
        positions = text.positions[text.starts[word] : text.starts[word + 1]]
        capacity = min(len(self._space.keep), 2 * len(self._weights) * len(positions))
        step = max(1, self._entries // max(capacity, 1))
        drawn = [
            self._folded_in(positions, copies[:, first : first + step], capacity)
            for first in range(0, copies.shape[1], step)
        ]
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn)

    def _folded_in(self, positions: np.ndarray, copies: np.ndarray, capacity: int) -> np.ndarray:
        """Return the vectors for some draws, float32 (J, D)."""
        from firth.embed.resampling.row_kernels import count_drawn, weigh_drawn

        width = copies.shape[1]
        scratch = self._scratch.get()
        rows, contexts, counts, values = scratch
        if len(counts) < capacity * width:
            counts = np.empty(capacity * width, counts.dtype)
            values = np.empty(capacity * width, values.dtype)
        table = counts[: capacity * width].reshape(capacity, width)
        n = count_drawn(
            self._text.text, positions, self._text.units[positions], self._separator,
            self._weights, np.ascontiguousarray(copies), rows, contexts, table,
        )  # fmt: skip
        weighed = values[: n * width].reshape(n, width)
        weigh_drawn(
            table[:n], contexts[:n], self._space.keep, self._log_factors, self._logs, weighed
        )
        vectors = weighed.T @ self._space.basis[contexts[:n]]
        self._scratch.put((rows, contexts, counts, values))
        return np.asarray(vectors)
