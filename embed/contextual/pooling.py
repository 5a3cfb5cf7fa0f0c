"""Static vectors from contextual states: the mean over some occurrences of each word.

Bommasani, Davis and Cardie 2020 (ACL 2020, "Interpreting Pretrained Contextualized
Representations via Reductions to Static Embeddings"), section 3: mean over contexts of the mean
over pieces.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, setting
from firth.corpora.common.reporting import Progress, no_progress, note
from firth.embed.contextual.joined import centers_of, joined
from firth.embed.contextual.sentence_selection import NOT_POOLED, Block, SentenceSelection
from firth.embed.protocols import (
    ContextualEncoder,
    InputEmbeddings,
    JoinableEncoder,
    MaskedEncoder,
    StaticLayers,
    needs_trees,
)
from firth.embed.registry import MIN_COUNT_HELP
from firth.embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.store.corpus import Corpus, View

AUTO = "auto"
JOINED, STATES, _MASKED, TABLE = "joined", "states", "masked", "input-embeddings"  # sources
MASKING = (JOINED, _MASKED)
# by source
_NEEDED: dict[str, type] = {
    JOINED: JoinableEncoder, _MASKED: MaskedEncoder, TABLE: InputEmbeddings,
}  # fmt: skip
# of each word; measured, docs/methods/mlm.md
_CONTEXTS = 10
_MASKED_CONTEXTS = 30

# words, int32 (n,), the sums of their states, float64 (n, D), and how many these are, int64 (n,)
BlockSums = tuple[np.ndarray, np.ndarray, np.ndarray]


@describe_settings
@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """How contextual states are pooled into one vector per word."""

    source: str = setting(
        AUTO,
        "What is averaged: states of a word's occurrences, states in its place where it is masked, "
        "or its pieces' input embeddings. Joined is the masked states beside the words' count "
        "vectors (the input embeddings if training started at random); auto is joined, but states "
        "with `layers` and for a Hugging Face folder.",
        choices=(AUTO, JOINED, STATES, _MASKED, TABLE),
    )
    layers: str = setting(
        AUTO,
        "Layers to average, for example 0,1: 0 is the embeddings, 1 the first layer's output; by "
        "default the last where words are masked, otherwise the upper half, or as the note says "
        "for a Hugging Face folder.",
        metavar="LAYERS",
    )
    contexts_per_word: int | None = setting(
        None,
        "Average at least this many occurrences of a word, or all if it has fewer; by default 10, "
        "and 30 where words are masked.",
        at_least=1,
        at_most=1_000_000,
        metavar="N",
    )
    min_count: int | None = setting(None, MIN_COUNT_HELP, at_least=1)
    max_vocabulary: int | None = setting(
        None, "Make vectors of at most this many words; all by default.", at_least=1
    )
    seed: int = setting(1, "Seed of the choice of sentences.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        if self.source == TABLE and self.layers != AUTO:
            raise SettingError(f"`layers={self.layers}`: input embeddings have none; leave it out")


@dataclass(frozen=True)
class Pooled:
    """Pooled vectors and how they were made."""

    vectors: WordVectors
    info: dict[str, Any]  # ``pooling`` in config.json: source, layers, sentences and tokens read


def pool_words(
    encoder: ContextualEncoder,
    corpus: "Corpus",
    config: PoolConfig,
    show: Progress = no_progress,
    *,
    tokens_at_once: int = 1 << 15,
    words_at_once: int = 1 << 14,
) -> Pooled:
    """Return one vector per word of a corpus: the mean of its contextual states.

    Training sentences are visited in order of their rarest word, then at random; a sentence is
    encoded if one of its words still has fewer than ``contexts_per_word`` contexts. All words of an
    encoded sentence count, so frequent words get more contexts; unless words are masked. Sums of
    blocks are added in the order of the text.

    Memory: 12 bytes per word and dimension of the states; if they are joined 4 more, and 4 of the
    vectors without context.
    """
    source = _choose_source(config, encoder)
    layers = _choose_layers(config, source, encoder)
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation="drop",
        boundary="sentence",
    )
    words, counts = _known_words(encoder, view)
    info: dict[str, Any] = {"source": source, "unknown": len(view.words) - len(words)}
    centers = None
    if source == TABLE:
        assert isinstance(encoder, InputEmbeddings)
        starts = range(0, len(words), words_at_once)
        lookups = (encoder.input_embeddings(words[n : n + words_at_once]) for n in starts)
        matrix = _stacked(lookups, len(words), show)
    else:
        masked = source in MASKING
        trees = needs_trees(encoder)
        if trees and not corpus.keeps_heads:
            raise SettingError(
                f"{corpus.path}: keeps no heads of words, which the encoder needs; build it from "
                "CoNLL-U with heads, or pool a run trained without `attention=tree`"
            )
        n_contexts = config.contexts_per_word or (_MASKED_CONTEXTS if masked else _CONTEXTS)
        selection = SentenceSelection.make(
            corpus, words, counts, n_contexts, seed=config.seed, masked=masked,
            trees=trees,
        )  # fmt: skip

        def sums() -> Iterator[BlockSums]:
            done = 0
            for block in selection.blocks(tokens_at_once):
                yield sum_states(encoder, block, layers, masked)
                show(done := done + len(block[1]), selection.n_tokens)

        matrix = _mean_states(sums(), len(words))
        info.update(layers=list(layers), contexts_per_word=n_contexts)
        info.update(sentences=selection.n_sentences, tokens=selection.n_tokens)
    if source == JOINED:
        assert isinstance(encoder, JoinableEncoder)
        n_pieces, states = encoder.n_pieces(words), matrix
        centers = centers_of(states, n_pieces)
        slices = (slice(n, n + words_at_once) for n in range(0, len(words), words_at_once))
        parts = (
            joined(encoder.static_embeddings(words[part]), states[part], n_pieces[part], centers)
            for part in slices
        )
        matrix = _stacked(parts, len(words))
    vectors = WordVectors(words, matrix, counts=counts, text=corpus.text, centers=centers)
    return Pooled(vectors, info)


def _choose_source(config: PoolConfig, encoder: ContextualEncoder) -> str:
    """Return what to average; raise if the encoder cannot do it."""
    source = config.source
    if source == AUTO:
        stated = config.layers != AUTO or isinstance(encoder, StaticLayers)
        return JOINED if not stated and isinstance(encoder, JoinableEncoder) else STATES
    needed = _NEEDED.get(source)
    if needed and not isinstance(encoder, needed):
        lacks = "has none" if needed is InputEmbeddings else "cannot mask words"
        raise SettingError(f"`source={source}`: this encoder {lacks}; use states")
    return source


def _known_words(encoder: ContextualEncoder, view: "View") -> tuple[list[str], np.ndarray]:
    """Return the words that the encoder can represent, and their counts, int64 (V,)."""
    known = encoder.covers(view.words)
    if not known.any():
        raise SettingError("the encoder covers no word of the corpus; use its training corpus")
    if not known.all():
        examples = " ".join(view.words[row] for row in np.flatnonzero(~known)[:3])
        n_unknown = int((~known).sum())
        note(f"{n_unknown:,} words unknown to the encoder get no vector, for example {examples}")
    words = [word for word, is_known in zip(view.words, known, strict=True) if is_known]
    return words, view.counts[known]


def _choose_layers(config: PoolConfig, source: str, encoder: ContextualEncoder) -> tuple[int, ...]:
    """Return the layers to average; the encoder's own default is said in a note."""
    if source == TABLE:
        return ()
    if config.layers == AUTO and source in MASKING:
        return (encoder.n_layers,)
    if config.layers != AUTO or not isinstance(encoder, StaticLayers):
        return parse_layers(config.layers, encoder.n_layers)
    layers, reason = encoder.static_layers()
    numbers = ",".join(map(str, layers))
    note(f"pooling layers {numbers} of 0 to {encoder.n_layers}: {reason}; `layers` chooses others")
    return layers


def parse_layers(text: str, n_layers: int) -> tuple[int, ...]:
    """Parse ``--layers``: ``auto`` or numbers separated by commas, sorted without repetition."""
    if text == AUTO:
        # the middle layer and those above: measured, docs/methods/mlm.md
        return tuple(range(n_layers // 2, n_layers + 1))
    cells = [cell.strip() for cell in text.split(",")]
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        raise SettingError(f"`layers={text}`: expected comma-separated numbers like 0,1, or {AUTO}")
    layers = sorted({int(cell) for cell in cells})
    if layers[-1] > n_layers:
        raise SettingError(
            f"`layers={text}`: no layer {layers[-1]}; the encoder has layers 0 (embeddings) to "
            f"{n_layers}"
        )
    return tuple(layers)


def _mean_states(blocks: Iterable[BlockSums], n_words: int) -> np.ndarray:
    """Return the mean state of each word, float32 (V, D)."""
    counts = np.zeros(n_words, dtype=np.int64)
    sums = np.zeros((0, 0))
    for words, of_block, n_states in blocks:
        if not sums.size:
            sums = np.zeros((n_words, of_block.shape[1]))
        sums[words] += of_block
        counts[words] += n_states
    means = np.empty(sums.shape, np.float32)
    np.divide(sums, counts[:, None], out=means, casting="same_kind")  # in float64, then rounded
    return means


def sum_states(
    encoder: ContextualEncoder, block: Block, layers: Sequence[int], masked: bool
) -> BlockSums:
    """Return the sums of a block's states by word."""
    from firth.embed.contextual.pooling_kernels import add_states

    sentences, words = block
    pooled = np.flatnonzero(words != NOT_POOLED)
    if masked:
        assert isinstance(encoder, MaskedEncoder)
        states = encoder.encode_masked(sentences, pooled, layers)
    else:
        states = np.concatenate(encoder.encode(sentences, layers))[pooled]
    found, numbers = np.unique(words[pooled], return_inverse=True)
    sums, counts = np.zeros((len(found), states.shape[1])), np.zeros(len(found), np.int64)
    add_states(numbers.astype(np.int32), states, sums, counts)
    return found, sums, counts


def _stacked(parts: Iterable[np.ndarray], n_rows: int, show: Progress = no_progress) -> np.ndarray:
    """Return rows that come in parts as one array, float32 (n_rows, D)."""
    matrix, done = np.empty((0, 0), np.float32), 0
    for part in parts:
        if not done:
            matrix = np.empty((n_rows, part.shape[1]), np.float32)
        matrix[done : done + len(part)] = part
        done += len(part)
        show(done, n_rows)
    return matrix
