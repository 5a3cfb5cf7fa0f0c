"""Sentences encoded in blocks, so that only the states of some words are held at once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from embed.protocols import ContextualEncoder

WORDS_AT_ONCE = 1 << 15


def encode_in_blocks(
    encoder: ContextualEncoder,
    sentences: Sequence[Sequence[str]],
    layers: Sequence[int],
    at_once: int = WORDS_AT_ONCE,
    offsets: np.ndarray | None = None,
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Encode sentences, those together that begin in the same stretch of the text."""
    # offsets: int64 (n_sentences + 1,); yields list of float32 (n_words, D)
    if offsets is None:
        offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    begins = np.diff(offsets[:-1] // at_once)
    for first, last in pairwise([0, *(np.flatnonzero(begins) + 1).tolist(), len(sentences)]):
        yield first, encoder.encode(sentences[first:last], layers)
