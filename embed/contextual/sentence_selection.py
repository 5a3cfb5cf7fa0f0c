"""The sentences that are read to pool words: enough for each word, and no more than that takes."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.trees import ParsedSentence
from firth.embed.vectors.wordlist import index_words

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.store.corpus import Corpus, View

NOT_POOLED = -1

# sentences, and the pooled word of each of their tokens, int32 (n_tokens,)
Block = tuple[Sequence[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class SentenceSelection:
    """The sentences to encode.

    Sentences are visited in order of their keys. A sentence is selected if one of its words has
    fewer than ``n_contexts`` occurrences in the sentences selected before it. By the same
    rule all earlier sentences with this word were selected, so one key per word
    suffices: the key at which the word has enough occurrences.
    """

    text: "View"
    word_of: np.ndarray  # int32 (n_types,): the pooled word of each row of the text
    levels: np.ndarray  # uint8 (V,)
    last_keys: np.ndarray  # uint64 (V,): a sentence up to a word's key is selected
    seed: int
    # whether words are masked: then occurrences of words that have enough are left out
    masked: bool
    trees: bool = False  # whether sentences have their dependency trees
    n_sentences: int = 0
    n_tokens: int = 0

    @classmethod
    def make(
        cls,
        corpus: "Corpus",
        words: list[str],
        counts: np.ndarray,
        n_contexts: int,
        *,
        seed: int,
        masked: bool,
        trees: bool,
    ) -> "SentenceSelection":
        """Select sentences in two passes over the corpus."""
        text = corpus.view(
            min_count=1, max_vocabulary=None, punctuation="keep", boundary="sentence"
        )
        row_of = index_words(text.words)
        word_of = np.full(len(text.words), NOT_POOLED, dtype=np.int32)
        word_of[[row_of[word] for word in words]] = np.arange(len(words))
        levels = _frequency_levels(counts, n_contexts)
        last_keys = np.zeros(len(levels), dtype=np.uint64)
        selection = cls(text, word_of, levels, last_keys, seed, masked)
        selection._find_last_keys(np.minimum(counts, n_contexts))
        n_sentences = n_tokens = 0
        for rows, offsets, _, _ in selection._shards():
            n_sentences, n_tokens = n_sentences + len(offsets) - 1, n_tokens + len(rows)
        return dataclasses.replace(
            selection, trees=trees, n_sentences=n_sentences, n_tokens=n_tokens
        )

    def blocks(self, tokens_at_once: int) -> Iterator[Block]:
        """Yield the selected sentences, about as many tokens at once, or one longer sentence."""
        names = self.text.words
        for rows, offsets, words, governors in self._shards():
            first = 0
            while first < len(offsets) - 1:
                start = offsets[first]
                full = np.searchsorted(offsets, start + tokens_at_once, side="right") - 1
                last = max(first + 1, int(full))
                own = slice(start, offsets[last])
                bounds = (offsets[first : last + 1] - start).tolist()
                tokens = [names[row] for row in rows[own].tolist()]
                sentences = [tokens[a:b] for a, b in pairwise(bounds)]
                if governors is not None:
                    trees = np.split(governors[own], bounds[1:-1])
                    sentences = [*map(ParsedSentence, sentences, trees)]
                yield sentences, words[own]
                first = last

    def _shards(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]]:
        """Yield rows and offsets of selected sentences, and words and heads of tokens."""
        from firth.embed.contextual.pooling_kernels import mark_selected

        trees = self.text.heads() if self.trees else itertools.repeat(None)
        for (rows, words, offsets, keys), governors in zip(
            self._shards_with_keys(), trees, strict=False
        ):
            selected = np.empty(len(keys), dtype=bool)
            mark_selected(words, offsets, keys, self.last_keys, selected)
            lengths = np.diff(offsets)
            tokens = np.repeat(selected, lengths)
            chosen = words[tokens]
            if self.masked:
                late = np.repeat(keys, lengths)[tokens] > self.last_keys[chosen]
                chosen[late] = NOT_POOLED
            chosen_governors = None if governors is None else governors[tokens]
            yield rows[tokens], offsets_of(lengths[selected]), chosen, chosen_governors

    def _find_last_keys(self, wanted: np.ndarray) -> None:
        """Find the key at which each word has enough contexts."""
        from firth.embed.contextual.pooling_kernels import keep_lowest

        starts = offsets_of(wanted)
        lowest = np.empty(starts[-1], dtype=np.uint64)
        filled = np.zeros(len(wanted), dtype=np.int64)
        for _, words, offsets, keys in self._shards_with_keys():
            keep_lowest(words, offsets, keys, starts, filled, lowest)
        assert np.array_equal(filled, wanted)  # a view counts exactly the tokens of its shards
        self.last_keys[:] = lowest[starts[:-1]]

    def _shards_with_keys(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield text rows, pooled words, offsets and sentence keys, shard by shard."""
        from firth.embed.contextual.pooling_kernels import sentence_keys

        first, seed = 0, np.uint64(self.seed)
        for rows, offsets in self.text.shards():
            words = self.word_of[rows]
            keys = np.empty(len(offsets) - 1, dtype=np.uint64)
            sentence_keys(words, offsets, self.levels, seed, np.uint64(first), keys)
            yield rows, words, offsets, keys
            first += len(keys)


def _frequency_levels(counts: np.ndarray, contexts: int) -> np.ndarray:
    """Return log2(count / contexts) rounded up, uint8 (V,); 0 if all sentences are needed.

    Visiting rare words' sentences first also serves frequent words: on 20 million tokens a fifth
    fewer sentences are encoded than in random order.
    """
    from firth.embed.contextual.pooling_kernels import LEVEL_BITS

    doublings = np.ceil(np.log2(counts / contexts))
    return np.clip(doublings, 0, 2**LEVEL_BITS - 2).astype(np.uint8)
