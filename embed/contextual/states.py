"""The states of an encoder at some places of a corpus."""

from collections.abc import Iterator, Sequence

import numpy as np

from firth.corpora.store.search import Search
from firth.embed.protocols import ContextualEncoder

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
