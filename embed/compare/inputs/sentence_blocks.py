"""Sentences in blocks, so that only the states of some words are held at once."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

_WORDS_AT_ONCE = 1 << 15


def sentence_blocks(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Part sentences into blocks of some words in all.

    Parameters
    ----------
    offsets : int64 (n_sentences + 1,)
        Where sentences begin and end, in words.

    Yields
    ------
    int
        The first sentence of a block.
    int
        The sentence behind its last.
    """
    starts = offsets[:-1] // _WORDS_AT_ONCE
    yield from pairwise([0, *(np.flatnonzero(np.diff(starts)) + 1).tolist(), len(starts)])
