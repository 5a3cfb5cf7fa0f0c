"""What pooling sees of each sentence: the vectors of its words, or their states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embed.compare.probes.examples import Bags
from embed.compare.tasks.tagging.inputs import likely_parts, static_inputs
from embed.contextual.batches import encode_in_blocks
from embed.protocols import ContextualEncoder, StaticVectors


@dataclass(frozen=True, eq=False)
class SentenceInputs:
    """A table of vectors, and which of them are each sentence's."""

    # float32 (R, D) or scipy.sparse CSR (R, D): A row for each different word, or for each word of
    # the text
    table: Any
    bags: Bags  # all sentences
    # bool (n_words,): whether a word's vector is made of n-grams; whether it has none, though it
    # has a letter or digit
    composed: np.ndarray
    # bool (n_words,): whether a word's vector is made of n-grams; whether it has none, though it
    # has a letter or digit
    zero: np.ndarray

    def with_any(self, words: np.ndarray) -> np.ndarray:
        """Tell which sentences have a word of some kind."""
        # words: bool (n_words,); returns bool (n_sentences,)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return np.asarray(sums[self.bags.offsets[1:]] > sums[self.bags.offsets[:-1]])


def cut_sentence(
    cut: Callable[[str], list[str]], text: str, *, as_written: bool = False
) -> list[str]:
    """Cut a sentence into words."""
    if not as_written:
        return [word for token in text.split() for word in cut(token)]
    words = []
    for token in text.split():
        parts = cut(token) or likely_parts(token)
        words += [token] if len(parts) == 1 else parts
    return words


def static_sentences(vectors: StaticVectors, sentences: Sequence[Sequence[str]]) -> SentenceInputs:
    """Look words up, each by itself."""
    words = [word for sentence in sentences for word in sentence]
    found = static_inputs(vectors, words)
    zero = found.zero & np.array([any(map(str.isalnum, word)) for word in words], dtype=bool)
    return SentenceInputs(found.table, Bags(found.rows, _offsets(sentences)), found.composed, zero)


def state_sentences(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]], layer: int
) -> SentenceInputs:
    """Encode words in their sentences.

    Memory: the states of all words once, and those of some 30,000 words.
    """
    offsets = _offsets(sentences)
    table: np.ndarray | None = None
    for start, states in encode_in_blocks(encoder, sentences, [layer]):
        part = np.concatenate(states)
        if table is None:
            table = np.empty((offsets[-1], part.shape[1]), np.float32)
        table[offsets[start] : offsets[start] + len(part)] = part
    assert table is not None
    nothing = np.zeros(len(table), dtype=bool)
    return SentenceInputs(table, Bags(np.arange(len(table)), offsets), nothing, nothing)


def state_means(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]], layer: int
) -> np.ndarray:
    """Average the states of the words of each sentence, without keeping them."""
    # returns float32 (n_sentences, D)
    return np.array(
        [
            of_words.sum(axis=0) / max(len(of_words), 1)
            for _, states in encode_in_blocks(encoder, sentences, [layer])
            for of_words in states
        ],
        dtype=np.float32,
    )


def mean_pooled(inputs: SentenceInputs) -> Any:
    """Average the vectors of the words of each sentence."""
    # returns float32 (n_sentences, D) or scipy.sparse CSR (n_sentences, D)
    import scipy.sparse

    bags = inputs.bags
    shares = np.repeat(1 / np.maximum(bags.lengths, 1), bags.lengths).astype(np.float32)
    shape = len(bags.lengths), inputs.table.shape[0]
    return scipy.sparse.csr_matrix((shares, bags.rows, bags.offsets), shape=shape) @ inputs.table


def _offsets(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Where sentences begin and end, in words."""
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)
