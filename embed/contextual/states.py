"""The states of an encoder at some places of a corpus, or of sentences in blocks."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.store.search import Search
from firth.embed.protocols import ContextualEncoder

WORDS_AT_ONCE = 1 << 15
_AT_ONCE = 1 << 11  # sentences
_UNREAD = "…"  # for words that the vocabulary of the corpus left out


def states_at(
    search: Search, positions: np.ndarray, encoder: ContextualEncoder, layers: Sequence[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield which positions were read, and the states of the tokens there; a sentence once."""
    # positions: int64 (n,); yields int64 (m,) and float32 (m, D)
    sentences, owner = np.unique(search.sentences_of(positions), return_inverse=True)
    order = np.argsort(owner, kind="stable")
    for first in range(0, len(sentences), _AT_ONCE):
        part = sentences[first : first + _AT_ONCE]
        begins = search.sentence_starts[part]
        texts = search.words(begins, search.sentence_starts[part + 1])
        read = encoder.encode([[word or _UNREAD for word in text] for text in texts], layers)
        chosen = order[slice(*np.searchsorted(owner[order], [first, first + len(part)]))]
        inside = owner[chosen] - first
        places = zip(inside.tolist(), (positions[chosen] - begins[inside]).tolist(), strict=True)
        yield chosen, np.array([read[sentence][place] for sentence, place in places])


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
