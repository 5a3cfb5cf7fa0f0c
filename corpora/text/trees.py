"""Dependency trees: the syntactic head of each token of a sentence, as a signed distance.

A distance of 0 means that a token is a root, or that its head is unknown.
"""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of

_NO_WORD = -1  # what the head of a word is if the file names no word
_MOST_DIGITS = 10  # of the number of a word


class ParsedSentence(list[str]):
    """The words of a sentence with its dependency tree."""

    def __init__(self, words: Iterable[str], heads: np.ndarray) -> None:
        super().__init__(words)
        self.heads = heads  # int (n_words,), signed distances


class SentenceTree:
    """The heads of the words of a CoNLL-U sentence, collected line by line."""

    def __init__(self) -> None:
        # of each word, by its number: the number of its head (0 for a root or an open head), and
        # the place of the token that it is part of
        self._heads: dict[int, int] = {}
        self._tokens: dict[int, int] = {}
        self._open: set[int] = set()

    def add(self, word: int, head: str, token: int) -> None:
        """Add a word; its head may be left open (``_``)."""
        if head == "_":
            self._open.add(word)
            head = "0"
        is_number = head.isdecimal() and len(head) < _MOST_DIGITS
        self._heads[word] = int(head) if is_number else _NO_WORD
        self._tokens[word] = token

    def distances(self, n_tokens: int) -> list[int] | None:
        """Return the distance of each token to its head; None if they are no tree.

        A token of several words has the head of that nearest to the root, so that the tokens are
        a tree as well.
        """
        if not set(self._heads.values()) <= {0, *self._heads}:
            return None
        depths = word_depths(self._heads)
        if depths is None:
            return None
        found = [0] * n_tokens
        # the last counts
        for word in sorted(self._heads, key=lambda word: (word not in self._open, -depths[word])):
            token, head = self._tokens[word], self._heads[word]
            found[token] = self._tokens[head] - token if head else 0
        return found


def word_depths(heads: Mapping[int, int]) -> dict[int, int] | None:
    """Return the number of words from each word up to 0, the root; None if some form a cycle.

    >>> word_depths({1: 2, 2: 0, 3: 2}), word_depths({1: 2, 2: 1})
    ({0: 0, 2: 1, 1: 2, 3: 2}, None)
    """
    depths = {0: 0}
    for word in heads:
        path: dict[int, None] = {}
        while word not in depths:
            if word in path:
                return None
            path[word] = None
            word = heads[word]
        depths.update(zip(reversed(path), itertools.count(depths[word] + 1), strict=False))
    return depths


def part_heads(heads: np.ndarray, n_parts: np.ndarray) -> np.ndarray:
    """Return the distance of each part of the words of a text to its head, int64 (sum of parts,).

    The first part of a word depends on the first part of the word's head, further parts on the
    first one. A word without parts is dropped; the heads of its children are unknown then.
    """
    # heads: int (n_words,); n_parts: int64 (n_words,)
    first = offsets_of(n_parts)[:-1]
    owners = np.repeat(np.arange(len(heads)), n_parts)
    places, targets = np.arange(len(owners)), owners + heads[owners]
    later = places != first[owners]
    known = later | (n_parts[targets] > 0)
    distances: np.ndarray = np.where(later, first[owners], first[targets]) - places
    return np.where(known, distances, 0)
