"""Ranges of a corpus as text: as it was written if the corpus keeps its text, else its tokens."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from firth.corpora.store.search import Search
from firth.corpora.text.patterns import tokens_by
from firth.corpora.text.segment import TextSettings, characters_of, jieba_cutter
from firth.corpora.text.type_table import Piece, segment_short

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


def align(text: str, tokens: Sequence[str], settings: TextSettings) -> list[tuple[int, int]] | None:
    """Return where each token starts and stops in the text; None if the text has other tokens.

    An empty token, as pruned types are, equals one word, whatever it is; a phrase (``new_york``)
    the words that it consists of. With lemmas only numbers are compared.
    """
    pieces = _pieces(text, settings.before_lemmas)
    if settings.lemmatize is not None:
        same = len(pieces) == len(tokens)
        return [(start, stop) for _, start, stop in pieces] if same else None
    spans, next_piece = [], 0
    for token in tokens:
        first, last = next_piece, next_piece + 1
        if token and "_".join(word for word, _, _ in pieces[first:last]) != token:
            last += token.count("_")
            if "_".join(word for word, _, _ in pieces[first:last]) != token:
                return None
        if last > len(pieces):
            return None
        spans.append((pieces[first][1], pieces[last - 1][2]))
        next_piece = last
    return spans if next_piece == len(pieces) else None


def _pieces(text: str, settings: TextSettings) -> list[Piece]:
    """Return the words of a text with their places."""
    if settings.pattern is not None:
        return tokens_by(settings.pattern)(text)
    if settings.segmenter != "jieba":
        return segment_short(text, characters_of(settings))
    table, start = characters_of(settings, "pretokenized"), 0
    pieces: list[Piece] = []
    for token in jieba_cutter()(text):
        if not token.isspace():
            pieces += [(word, start + a, start + b) for word, a, b in segment_short(token, table)]
        start += len(token)
    return pieces
