"""Inputs of sentence pooling: the static vectors or the states of the words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.joining import joined_parts
from firth.embed.compare.inputs.lookup import join_phrases, join_written
from firth.embed.compare.probes.examples import Bags
from firth.embed.compare.tasks.tagging.inputs import likely_parts, static_inputs
from firth.embed.contextual.states import encode_in_blocks
from firth.embed.protocols import ContextualEncoder, StaticVectors


@dataclass(frozen=True, eq=False)
class SentenceInputs:
    """A table of vectors, and its rows for the words of each sentence."""

    table: Any  # float32 (R, D), dense or CSR: a row per distinct word, or per token
    bags: Bags  # all sentences
    composed: np.ndarray  # bool (n_words,): whether a word's vector is composed of n-grams
    zero: np.ndarray  # bool (n_words,): whether a word has no vector; never for punctuation

    def with_any(self, words: np.ndarray) -> np.ndarray:
        """Return which sentences have any of the marked words."""
        # words: bool (n_words,); returns bool (n_sentences,)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return np.asarray(sums[self.bags.offsets[1:]] > sums[self.bags.offsets[:-1]])


def split_sentence(split: Callable[[str], list[str]], text: str) -> list[str]:
    """Split each token of a sentence, at white space, into words.

    >>> split_sentence(lambda token: token.lower().split("-"), "Half-way There")
    ['half', 'way', 'there']
    """
    tokens = [split(token) for token in text.split()]
    return joined_parts(tokens, [" " * (number > 0) for number in range(len(tokens))])


def words_read(encoder: ContextualEncoder, text: str) -> list[str]:
    """Return the words of a sentence, with phrases, as an encoder reads them."""
    return join_phrases(encoder, split_sentence(encoder.words, text))[0]


def words_looked_up(vectors: StaticVectors, text: str) -> list[str]:
    """Return the words of a sentence, with phrases, as static vectors look them up.

    A token that is one word is as written; one that has no words for these vectors is split into
    runs of letters and digits and single marks.
    """
    words = []
    for token in text.split():
        parts = vectors.words(token) or likely_parts(token)
        words += [token] if len(parts) == 1 else parts
    return join_written(vectors, words)[0]


def words_of_sentences(
    cut: Callable[[str], list[str]], sentences: Sequence[str]
) -> tuple[list[str], np.ndarray]:
    """Return the words of a text that is cut sentence by sentence, and the sentence of each."""
    # second: int64 (n_words,)
    parts = [cut(sentence) for sentence in sentences]
    gaps = ["", *(" " * sentence[-1:].isspace() for sentence in sentences[:-1])]
    return joined_parts(parts, gaps), np.repeat(np.arange(len(parts)), [*map(len, parts)])


def static_sentences(vectors: StaticVectors, sentences: Sequence[Sequence[str]]) -> SentenceInputs:
    """Look up the static vectors of words; an unknown word is a zero vector with a flag."""
    words = [word for sentence in sentences for word in sentence]
    found = static_inputs(vectors, words)
    zero = found.zero & np.array([any(map(str.isalnum, word)) for word in words], dtype=bool)
    return SentenceInputs(
        found.table, Bags(found.rows, offsets_of(map(len, sentences))), found.composed, zero
    )


def state_sentences(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]], layer: int
) -> SentenceInputs:
    """Encode words in their sentences; every token has a row.

    Memory: the states of all words once, and those of some 30,000 words.
    """
    offsets = offsets_of(map(len, sentences))
    table: np.ndarray | None = None
    for start, states in encode_in_blocks(encoder, sentences, [layer]):
        part = np.concatenate(states)
        if table is None:
            table = np.empty((offsets[-1], part.shape[1]), np.float32)
        table[offsets[start] : offsets[start] + len(part)] = part
    assert table is not None
    none = np.zeros(len(table), dtype=bool)
    return SentenceInputs(table, Bags(np.arange(len(table)), offsets), none, none)


def state_means(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]], layers: Sequence[int]
) -> np.ndarray:
    """Return the mean state of each sentence, zero if empty, without keeping all states."""
    # returns float32 (n_sentences, D)
    return np.array(
        [
            of_words.sum(axis=0) / max(len(of_words), 1)
            for _, states in encode_in_blocks(encoder, sentences, layers)
            for of_words in states
        ],
        dtype=np.float32,
    )


def mean_pool(inputs: SentenceInputs) -> Any:
    """Return the mean vector of each sentence, zero if it has no words."""
    # returns float32 (n_sentences, D) or scipy.sparse CSR (n_sentences, D)
    import scipy.sparse

    bags = inputs.bags
    shares = np.repeat(1 / np.maximum(bags.lengths, 1), bags.lengths).astype(np.float32)
    shape = len(bags.lengths), inputs.table.shape[0]
    return scipy.sparse.csr_matrix((shares, bags.rows, bags.offsets), shape=shape) @ inputs.table
