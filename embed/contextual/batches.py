"""Block-wise encoding of sentences, which bounds the memory that their states take."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.embed.protocols import ContextualEncoder

WORDS_AT_ONCE = 1 << 15


def encode_in_blocks(
    encoder: ContextualEncoder,
    sentences: Sequence[Sequence[str]],
    layers: Sequence[int],
    at_once: int = WORDS_AT_ONCE,
    offsets: np.ndarray | None = None,
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield (index of the first sentence, states of its block), about ``at_once`` words a block.

    ``offsets``, int64 (n_sentences + 1,), are the sentences' places in a longer text that decide
    the blocks, so that a subset is encoded in the same blocks as the whole; by default the
    sentences are taken to be the whole text.
    """
    if offsets is None:
        offsets = offsets_of(map(len, sentences))
    begins = np.diff(offsets[:-1] // at_once)
    for first, last in pairwise([0, *(np.flatnonzero(begins) + 1).tolist(), len(sentences)]):
        yield first, encoder.encode(sentences[first:last], layers)
