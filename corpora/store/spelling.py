"""Ranges of a corpus as text: as it was written if the corpus keeps its text, else its tokens."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from firth.corpora.store.search import Search
from firth.corpora.text.align import align

_SENTENCES = 1000  # remembered
_PRUNED = "…"  # stands for types that the vocabulary left out


class Spelling:
    """Spells ranges of tokens of a corpus."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._sentence = lru_cache(_SENTENCES)(self._align)

    def parts(self, bounds: Sequence[np.ndarray]) -> Iterator[list[str]]:
        """Yield the texts between the bounds of each range."""
        # bounds: int64 (n,) each, positions: the starts of all parts, and the ends of the last
        if self._search.corpus.keeps_text:
            for places in zip(*(each.tolist() for each in bounds), strict=True):
                yield [self._text(first, last) for first, last in pairwise(places)]
            return
        words = [self._search.words(first, last) for first, last in pairwise(bounds)]
        for parts in zip(*words, strict=True):
            yield [" ".join(word or _PRUNED for word in part) for part in parts]

    def _text(self, first: int, last: int) -> str:
        """Return the text from one token to another."""
        text, starts = "", self._search.sentence_starts
        while first < last:
            number = int(self._search.sentences_of(np.array([first]))[0])
            begin, end = starts[number], int(starts[number + 1])
            text += "".join(self._sentence(number)[first - begin : last - begin]) + " "
            first = end
        return " ".join(text.split())

    def _align(self, number: int) -> list[str]:
        """Return the tokens of a sentence as written, each with what follows it."""
        bounds = self._search.sentence_starts[number : number + 2]
        [words] = self._search.words(bounds[:1], bounds[1:])
        shard, inner = self._search.locate(number, "sentence")
        [text] = shard.sentence_texts([inner])
        places = align(text, words, self._search.corpus.text)
        if places is None:
            return [f"{word or _PRUNED} " for word in words]
        starts = [start for start, _ in places]
        return [text[a:b] for a, b in pairwise([*starts, len(text)])]
