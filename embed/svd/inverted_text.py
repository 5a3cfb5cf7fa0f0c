"""Prepare text for counting: split it into segments that fit the memory, and invert it."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from firth.corpora.common.threads import map_in_order


class CountableView(Protocol):
    """The parts of a corpus view that counting reads."""

    @property
    def counts(self) -> np.ndarray:
        """Occurrences of each word: int64 (V,)."""

    @property
    def n_tokens(self) -> int:
        """Sum of ``counts``."""

    def shards(self) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of the tokens and the offsets of their units, one shard at a time."""


def segments(view: CountableView, n_words: int, text_type: Any, limit: int) -> Iterator[np.ndarray]:
    """Yield the text in segments of at most ``limit`` tokens and separators.

    Rows from ``n_words`` on become ``n_words``, and the separator is ``n_words + 1``; one comes
    first and one after each unit. A unit longer than ``limit`` stays whole.
    """
    # yields text_type (n,)
    from firth.embed.svd.cooccurrence_kernels import lay_out

    separator = np.full(1, n_words + 1, text_type)
    parts, size = [separator], 0
    for rows, offsets in view.shards():
        for units in _split_offsets(offsets, limit):
            text = np.empty(int(units[-1] - units[0]) + len(units) - 1, text_type)
            text = text[: lay_out(rows, units, n_words + 1, text)]
            if size and size + len(text) > limit:
                yield np.concatenate(parts)
                parts, size = [separator], 0
            parts.append(text)
            size += len(text)
    if size:
        yield np.concatenate(parts)


def _split_offsets(offsets: np.ndarray, limit: int) -> Iterator[np.ndarray]:
    """Yield a shard's offsets in runs of at most ``limit`` tokens, or of one longer unit."""
    begin, n_units = 0, len(offsets) - 1
    while begin < n_units:
        stop = int(np.searchsorted(offsets, offsets[begin] + limit, "right")) - 1
        stop = min(max(stop, begin + 1), n_units)
        yield offsets[begin : stop + 1]
        begin = stop


def invert(text: np.ndarray, n_types: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Group the positions of a text by type; the same at any ``threads``."""
    # text: unsigned integers (n,), below n_types
    # returns positions: int32 (n,), type w is at positions[starts[w]:starts[w + 1]]
    # returns starts: int64 (n_types + 1,)
    from firth.embed.svd.cooccurrence_kernels import histogram, scatter

    bounds = [len(text) * part // threads for part in range(threads + 1)]
    counts = np.zeros((threads, n_types), np.int64)
    parts = range(threads)

    def count(part: int) -> None:
        histogram(text, bounds[part], bounds[part + 1], counts[part])

    def place(part: int) -> None:
        scatter(text, bounds[part], bounds[part + 1], free[part], positions)

    list(map_in_order(count, parts, threads))
    starts = np.concatenate([[0], counts.sum(axis=0)]).cumsum()
    free = starts[:-1] + counts.cumsum(axis=0) - counts
    positions = np.empty(len(text), np.int32)
    list(map_in_order(place, parts, threads))
    return positions, starts
