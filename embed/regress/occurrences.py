"""Where words of a topic occur, and the mean vector of the words around each occurrence."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.options import split_list
from firth.corpora.store.search import Hits, Search
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words

_NO_VECTOR, _NO_WORD = -1, -2  # a word that has none; punctuation


class Surroundings:
    """The words around places of a text that have vectors.

    Words without a vector keep their places in the window, and punctuation does not. A window ends
    with the sentence.
    """

    def __init__(self, search: Search, vectors: WordVectors, window: int) -> None:
        self._search, self._vectors, self._window = search, vectors, window

    @cached_property
    def _types(self) -> np.ndarray:
        """The row of the vector of each type of the corpus, int32 (n_types,)."""
        vocabulary = self._search.corpus.vocabulary
        rows = rows_of(self._vectors, vocabulary)
        rows[vocabulary.punctuation] = _NO_WORD
        return rows

    def around(self, hits: Hits) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of vectors around hits, int32 (m,), and their offsets, int64 (n + 1,)."""
        rows, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        steps = np.arange(-self._window, self._window)
        for shard, first in self._search.shards():
            inside = slice(*np.searchsorted(hits.starts, [first, first + len(shard.ids)]).tolist())
            if inside.start == inside.stop:
                continue
            starts, stops = hits.starts[inside] - first, hits.stops[inside] - first
            of_tokens = self._types[shard.ids]
            places = offsets_of(of_tokens != _NO_WORD)
            of_words = np.append(of_tokens[of_tokens != _NO_WORD], _NO_VECTOR)
            bounds = shard.offsets("sentence")
            sentences = np.searchsorted(bounds, starts, "right") - 1
            lows, highs = places[bounds[sentences]], places[bounds[sentences + 1]]
            near = np.where(steps < 0, places[starts][:, None], places[stops][:, None]) + steps
            is_inside = (near >= lows[:, None]) & (near < highs[:, None])
            taken = of_words[np.where(is_inside, near, -1)]
            rows.append(taken[taken >= 0])
            counts.append((taken >= 0).sum(axis=1))
        return np.concatenate(rows), offsets_of(np.concatenate(counts))

    def means(self, rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the mean vectors around hits, float32 (n, D); NaN if none has a vector."""
        # rows, offsets: of around()
        from scipy.sparse import csr_array

        used, columns = np.unique(rows, return_inverse=True)
        counted = np.ones(len(rows), np.float32), columns, offsets
        ones = csr_array(counted, shape=(len(offsets) - 1, len(used)))
        sums = ones @ np.asarray(self._vectors.matrix[used], np.float32)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / np.diff(offsets)[:, None].astype(np.float32))


def find_topic(search: Search, topic: str) -> Hits:
    """Return the occurrences of any of some words, phrases or patterns, which commas divide."""
    found = [search.find(each) for each in split_list(topic) or [topic]]
    starts = np.concatenate([hits.starts for hits in found])
    stops = np.concatenate([hits.stops for hits in found])
    order = np.lexsort((-stops, starts))
    starts, stops = starts[order], stops[order]
    longest = np.maximum.accumulate(np.append(-1, stops[:-1]))
    return Hits(starts, stops)[starts >= longest]  # what overlaps counts once


def rows_of(vectors: WordVectors, words: Iterable[str]) -> np.ndarray:
    """Return the rows of words, int32 (n,); -1 for those without one."""
    rows = index_words(vectors.vocabulary)
    return np.array([rows.get(word, _NO_VECTOR) for word in words], np.int32)
