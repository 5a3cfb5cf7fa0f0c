"""Static vectors from contextual states: each word the mean over some of its occurrences.

Bommasani, Davis and Cardie 2020 (ACL 2020, "Interpreting Pretrained Contextualized
Representations via Reductions to Static Embeddings"), section 3: mean over contexts, of the
mean over pieces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.common.console import Progress, no_progress, note
from corpora.common.errors import SettingError
from corpora.common.options import check, setting
from embed.protocols import ContextualEncoder, InputEmbeddings
from embed.vectors.word_vectors import WordVectors
from embed.vectors.wordlist import index_words

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus, View

AUTO = "auto"
_NONE = -1


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """How contextual states become one vector per word."""

    source: str = setting(
        "states",
        "Average the states of a word's occurrences, or look its pieces up in the input table.",
        choices=("states", "input-embeddings"),
    )
    layers: str = setting(
        AUTO,
        "Layers to average, such as 0,1: 0 are the embeddings, 1 the first block's states; by "
        "default the upper half.",
        metavar="LAYERS",
    )
    contexts_per_word: int = setting(
        10,
        "Occurrences to average, at least, where a word has as many.",
        at_least=1,
        at_most=1_000_000,
        metavar="N",
    )
    min_count: int = setting(5, "Words with fewer tokens get no vector.", at_least=1)
    max_vocabulary: int | None = setting(
        None, "Make vectors of at most this many words; all by default.", at_least=1
    )
    seed: int = setting(1, "Of the choice of sentences.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        if self.source != "states" and self.layers != AUTO:
            raise SettingError(f"`layers={self.layers}`: goes with `source=states`")


@dataclass(frozen=True)
class Pooled:
    """Static vectors and how they came to be."""

    vectors: WordVectors  # one per word of the vocabulary
    # for ``config.json``, under ``pooling``: the source, the layers that were averaged, and how
    # many sentences were read for it
    about: dict[str, Any]

    def save(self, directory: Path) -> None:
        """Write ``vocabulary.tsv`` and ``vectors.npy``."""
        self.vectors.save(directory)


def pool_words(
    encoder: ContextualEncoder,
    corpus: "Corpus",
    config: PoolConfig,
    show: Progress = no_progress,
    *,
    tokens_at_once: int = 1 << 15,
    words_at_once: int = 1 << 14,
) -> Pooled:
    """Make one vector per word of a corpus, the mean of its contextual states.

    Sentences of the training documents are taken in an order of their rarest words and of
    chance, and one is encoded when, at its turn, some word of it still has too few contexts.
    All words of an encoded sentence gain by it, so frequent ones get more contexts than asked
    for. Every word has at least one.

    The same vectors every time, if the encoder's states are. Memory: 12 bytes per word and
    dimension, 8 per context asked for, and one shard of the corpus.
    """
    layers = parse_layers(config.layers, encoder.n_layers)
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation="drop",
        boundary="sentence",
    )
    words, counts = _known(encoder, view)
    about: dict[str, Any] = {"source": config.source, "unknown": len(view.words) - len(words)}
    if config.source == "input-embeddings":
        matrix = _look_up(encoder, words, show, words_at_once)
    else:
        choice = _Choice.make(corpus, words, counts, config)
        matrix = _mean_states(encoder, layers, choice, show, tokens_at_once)
        about.update(layers=list(layers), contexts_per_word=config.contexts_per_word)
        about.update(sentences=choice.n_sentences, tokens=choice.n_tokens)
    return Pooled(WordVectors(words, matrix, counts=counts, text=corpus.text), about)


def _known(encoder: ContextualEncoder, view: "View") -> tuple[list[str], np.ndarray]:
    """The words that the encoder can tell from others, and their counts."""
    known = encoder.knows(view.words)
    if not known.any():
        raise SettingError("the encoder knows no word of the corpus; take the one of its training")
    if not known.all():
        some = " ".join(view.words[row] for row in np.flatnonzero(~known)[:3])
        n_left = int((~known).sum())
        note(f"words unknown to the encoder, which get no vector: {n_left:,}, such as {some}")
    words = [word for word, is_known in zip(view.words, known, strict=True) if is_known]
    return words, view.counts[known]


def parse_layers(text: str, n_layers: int) -> tuple[int, ...]:
    """Read which layers to average."""
    if text == AUTO:
        # the middle one and those above: measured, docs/methods/mlm.md
        return tuple(range(n_layers // 2, n_layers + 1))
    cells = [cell.strip() for cell in text.split(",")]
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        raise SettingError(f"`layers={text}`: give numbers between commas, such as 0,1, or {AUTO}")
    layers = sorted({int(cell) for cell in cells})
    if layers[-1] > n_layers:
        raise SettingError(
            f"`layers={text}`: there is no layer {layers[-1]}; the encoder has 0, the embeddings, "
            f"to {n_layers}"
        )
    return tuple(layers)


@dataclass(frozen=True)
class _Choice:
    """Which sentences to encode.

    The order of choosing is that of keys. A sentence is taken if one of its words has fewer than
    ``contexts_per_word`` occurrences in the sentences taken before it. All sentences before it
    that have this word were taken, by the same rule, so it is enough to know for each word the
    key at which its occurrences, wherever they are, become enough.
    """

    text: "View"
    word_of: np.ndarray  # int32 (n_types,): the pooled word of each row of the text
    levels: np.ndarray  # uint8 (V,)
    highest: np.ndarray  # uint64 (V,)
    seed: int
    n_sentences: int = 0
    n_tokens: int = 0

    @classmethod
    def make(
        cls, corpus: "Corpus", words: list[str], counts: np.ndarray, config: PoolConfig
    ) -> "_Choice":
        """Choose, in two passes over the corpus."""
        text = corpus.view(
            min_count=1, max_vocabulary=None, punctuation="keep", boundary="sentence"
        )
        row_of = index_words(text.words)
        word_of = np.full(len(text.words), _NONE, dtype=np.int32)
        word_of[[row_of[word] for word in words]] = np.arange(len(words))
        levels = _levels(counts, config.contexts_per_word)
        highest = np.zeros(len(levels), dtype=np.uint64)
        choice = cls(text, word_of, levels, highest, config.seed)
        choice._find_highest(np.minimum(counts, config.contexts_per_word))
        n_sentences = n_tokens = 0
        for rows, offsets, _ in choice.shards():
            n_sentences, n_tokens = n_sentences + len(offsets) - 1, n_tokens + len(rows)
        return cls(text, word_of, levels, highest, config.seed, n_sentences, n_tokens)

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The chosen sentences: rows of the text, offsets, and the pooled word of each token."""
        from embed.contextual.pooling_kernels import mark_chosen

        for rows, words, offsets, keys in self._keyed():
            chosen = np.empty(len(keys), dtype=bool)
            mark_chosen(words, offsets, keys, self.highest, chosen)
            lengths = np.diff(offsets)
            taken = np.repeat(chosen, lengths)
            yield rows[taken], _offsets(lengths[chosen]), words[taken]

    def _find_highest(self, wanted: np.ndarray) -> None:
        """Find the key at which each word has contexts enough."""
        from embed.contextual.pooling_kernels import keep_lowest

        starts = _offsets(wanted)
        lowest = np.empty(starts[-1], dtype=np.uint64)
        filled = np.zeros(len(wanted), dtype=np.int64)
        for _, words, offsets, keys in self._keyed():
            keep_lowest(words, offsets, keys, starts, filled, lowest)
        assert np.array_equal(filled, wanted)  # a view counts the tokens that its shards give
        self.highest[:] = lowest[starts[:-1]]

    def _keyed(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The text with its pooled words, offsets and keys, shard by shard."""
        from embed.contextual.pooling_kernels import sentence_keys

        first, seed = 0, np.uint64(self.seed)
        for rows, offsets in self.text.shards():
            words = self.word_of[rows]
            keys = np.empty(len(offsets) - 1, dtype=np.uint64)
            sentence_keys(words, offsets, self.levels, seed, np.uint64(first), keys)
            yield rows, words, offsets, keys
            first += len(keys)


def _levels(counts: np.ndarray, contexts: int) -> np.ndarray:
    """Level of each word, uint8 (V,): 0 where all its sentences are needed, then by doublings.

    Their sentences go first, and bring frequent words along: on 20 million tokens a fifth fewer
    are encoded than in an order of chance alone.
    """
    from embed.contextual.pooling_kernels import LEVEL_BITS

    doublings = np.ceil(np.log2(counts / contexts))
    return np.clip(doublings, 0, 2**LEVEL_BITS - 2).astype(np.uint8)


def _mean_states(
    encoder: ContextualEncoder,
    layers: tuple[int, ...],
    choice: _Choice,
    show: Progress,
    tokens_at_once: int,
) -> np.ndarray:
    """Mean of the states of each word, float32 (V, D)."""
    from embed.contextual.pooling_kernels import add_states

    names, done = choice.text.words, 0
    counts = np.zeros(len(choice.levels), dtype=np.int64)
    sums = np.zeros((0, 0))
    for shard in choice.shards():
        for rows, offsets, words in _blocks(*shard, tokens_at_once):
            tokens = [names[row] for row in rows.tolist()]
            bounds = offsets.tolist()
            sentences = [tokens[a:b] for a, b in pairwise(bounds)]
            states = np.concatenate(encoder.encode(sentences, layers))
            sums = sums if sums.size else np.zeros((len(counts), states.shape[1]))
            add_states(words, states, sums, counts)
            done += len(rows)
            show(done, choice.n_tokens)
    sums /= counts[:, None]
    return sums.astype(np.float32)


def _blocks(
    rows: np.ndarray, offsets: np.ndarray, words: np.ndarray, tokens_at_once: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Whole sentences of some tokens in all."""
    first = 0
    while first < len(offsets) - 1:
        full = np.searchsorted(offsets, offsets[first] + tokens_at_once, side="right") - 1
        last = max(first + 1, int(full))
        start, stop = offsets[first], offsets[last]
        yield rows[start:stop], offsets[first : last + 1] - start, words[start:stop]
        first = last


def _look_up(
    encoder: ContextualEncoder, words: list[str], show: Progress, words_at_once: int
) -> np.ndarray:
    """Input embeddings of each word, float32 (V, D)."""
    if not isinstance(encoder, InputEmbeddings):
        raise SettingError("`source=input-embeddings`: this encoder has none; take states")
    parts = []
    for first in range(0, len(words), words_at_once):
        parts.append(encoder.input_embeddings(words[first : first + words_at_once]))
        show(min(first + words_at_once, len(words)), len(words))
    return np.concatenate(parts)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    """Where parts of these lengths start, int64 (n + 1,)."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
