"""Inputs of tagging probes: the static vector of each word, or its state in its sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.joining import gaps_before, joined_parts
from firth.corpora.text.trees import ParsedSentence, part_heads
from firth.embed.compare.inputs.lookup import (
    FoundWords,
    find_words,
    finite_units,
    join_phrases,
    join_written,
    stacked,
)
from firth.embed.contextual.states import WORDS_AT_ONCE, encode_in_blocks
from firth.embed.protocols import ContextualEncoder, StaticVectors, needs_trees

N_FLAGS = 2  # extra columns after each vector
_PARTS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Inputs:
    """A table of vectors with flags, and the row of each word."""

    # float32 (R + 1, D + 2), dense or CSR. The flags are the share of a word's parts without a
    # vector, and 1 for an unknown word without letters and digits. The last row is padding outside
    # the sentence, encoded as an unknown word
    table: Any
    rows: np.ndarray  # int64 (n_words,): the row of each word
    composed: np.ndarray  # bool (n_words,): whether the vector is composed of n-grams or parts
    zero: np.ndarray  # bool (n_words,): whether a word has no vector

    def windows(self, offsets: np.ndarray, radius: int) -> np.ndarray:
        """Return the rows of each word and its neighbors, in text order, with padding."""
        # offsets: int64 (n_sentences + 1,); returns int64 (n_words, 2 * radius + 1)
        lengths = np.diff(offsets)
        first, behind = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
        places = np.arange(len(self.rows))[:, None] + np.arange(-radius, radius + 1)
        outside = (places < first[:, None]) | (places >= behind[:, None])
        rows = self.rows[np.clip(places, 0, len(self.rows) - 1)]
        return np.where(outside, self.table.shape[0] - 1, rows)


def likely_parts(word: str) -> list[str]:
    """Split a word into runs of letters and digits, and single other characters.

    >>> likely_parts("don't")
    ['don', "'", 't']
    """
    return _PARTS.findall(word)


def static_inputs(vectors: StaticVectors, words: Sequence[str]) -> Inputs:
    """Look up static vectors; a word of several parts is the mean of the known ones."""
    forms = {word: number for number, word in enumerate(dict.fromkeys(words))}
    parts = [_parts(vectors, form) for form in forms]
    found = find_words(vectors, [part for each in parts for part in each])
    places = [found.places(each) for each in parts]
    lengths = np.array([len(each) for each in parts], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, np.int64), *places])
    known, owners = flat >= 0, np.repeat(np.arange(len(forms)), lengths)
    used, columns = np.unique(flat[known], return_inverse=True)
    means = _means(owners[known], columns, (len(forms) + 1, len(used)))
    n_known = np.bincount(owners[known], minlength=len(forms))
    flags = _flags(list(forms), lengths, n_known)
    table = _with_flags(means @ _vectors_at(vectors, used, found), flags)
    from_ngrams = np.array([found.has_composed(each[None])[0] for each in places], dtype=bool)
    rows = np.array([forms[word] for word in words], dtype=np.int64)
    composed = from_ngrams | ((lengths > 1) & (n_known > 0))
    return Inputs(table, rows, composed[rows], (n_known == 0)[rows])


def state_inputs(
    encoder: ContextualEncoder,
    words: Sequence[str],
    offsets: np.ndarray,
    layer: int,
    at_once: int = WORDS_AT_ONCE,
    heads: np.ndarray | None = None,
    gaps: Sequence[str] | None = None,
) -> Inputs:
    """Encode words in their sentences; a word of several parts is the mean of their states.

    With ``heads``, the sentences have trees. Without ``gaps``, spaces are where they can be
    expected. Memory: the table and the states of ``at_once`` words.
    """
    # offsets: int64 (n_sentences + 1,); heads: int64 (n_words,), signed distances
    parts = _split(encoder, words)
    lengths = np.array([len(each) for each in parts], dtype=np.int64)
    table: np.ndarray | None = None
    read = sentences_of(words, parts, offsets, gaps)
    joined = [join_phrases(encoder, sentence) for sentence in read]
    sentences = [sentence for sentence, _ in joined]
    if heads is not None and needs_trees(encoder):
        bounds = offsets_of(lengths)[offsets[1:-1]]
        sentences = [*map(ParsedSentence, sentences, np.split(part_heads(heads, lengths), bounds))]
    for first, block in encode_in_blocks(encoder, sentences, [layer], at_once, offsets):
        states = np.concatenate(block)
        if table is None:
            table = np.zeros((len(words) + 1, states.shape[1] + N_FLAGS), np.float32)
        own = slice(int(offsets[first]), int(offsets[first + len(block)]))
        owners = np.repeat(np.arange(own.stop - own.start), lengths[own])
        shape = own.stop - own.start, len(states)
        n_parts = [n for _, each in joined[first : first + len(block)] for n in each]
        table[own, :-N_FLAGS] = (
            _means(owners, np.repeat(np.arange(len(states)), n_parts), shape) @ states
        )
    assert table is not None
    table[:, -N_FLAGS:] = _flags(words, lengths, lengths)
    empty = lengths == 0
    return Inputs(table, np.arange(len(words)), np.zeros(len(words), dtype=bool), empty)


def sentences_read(
    encoder: ContextualEncoder,
    words: Sequence[str],
    offsets: np.ndarray,
    gaps: Sequence[str] | None = None,
) -> list[list[str]]:
    """Return the sentences as :func:`state_inputs` encodes them."""
    # offsets: int64 (n_sentences + 1,)
    sentences = sentences_of(words, _split(encoder, words), offsets, gaps)
    return [join_phrases(encoder, sentence)[0] for sentence in sentences]


def phrase_of_each(vectors: StaticVectors, words: Sequence[str], offsets: np.ndarray) -> list[str]:
    """Return for each word the phrase that the corpus of the vectors joined it to, or itself."""
    # offsets: int64 (n_sentences + 1,)
    read: list[str] = []
    for start, stop in pairwise(offsets.tolist()):
        joined, lengths = join_written(vectors, words[start:stop])
        read += np.repeat(np.array(joined, dtype=object), lengths).tolist()
    return read


def sentences_of(
    words: Sequence[str],
    parts: Sequence[list[str]],
    offsets: np.ndarray,
    gaps: Sequence[str] | None = None,
) -> list[list[str]]:
    """Return the parts of all words, sentence by sentence, spelled if the parts are."""
    # offsets: int64 (n_sentences + 1,)
    return [
        joined_parts(parts[a:b], gaps[a:b] if gaps else gaps_before(words[a:b]))
        for a, b in pairwise(offsets.tolist())
    ]


def _split(encoder: ContextualEncoder, words: Iterable[str]) -> list[list[str]]:
    """Split each word as the encoder does."""
    kept: dict[str, list[str]] = {}
    return [kept[w] if w in kept else kept.setdefault(w, encoder.words(w)) for w in words]


def _parts(vectors: StaticVectors, word: str) -> list[str]:
    """Return the texts to look up for a word: the word itself, unless it is split."""
    words = vectors.words(word)
    return [word] if len(words) == 1 else words or likely_parts(word)


def _means(owners: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return a CSR matrix that averages the rows of each owner."""
    import scipy.sparse

    shares = 1 / np.bincount(owners, minlength=shape[0])[owners]
    return scipy.sparse.csr_matrix((shares.astype(np.float32), (owners, columns)), shape=shape)


def _vectors_at(vectors: StaticVectors, places: np.ndarray, found: FoundWords) -> Any:
    """Return the vectors at ascending places; sparse ones are cut to the dimensions in use."""
    inside = places < found.n_words
    rows = vectors.matrix[places[inside]]
    if not np.isfinite(np.asarray(rows.sum(dtype=np.float64))):
        finite_units(vectors, places[inside])  # raises an error that names the word
    others = found.composed[places[~inside] - found.n_words]
    taken = stacked([rows, others])
    return taken if isinstance(taken, np.ndarray) else taken[:, np.unique(taken.indices)]


def _flags(words: Sequence[str], lengths: np.ndarray, n_known: np.ndarray) -> np.ndarray:
    """Return the flags of each word and of the padding, float64 (R + 1, N_FLAGS)."""
    unknown = np.append(1 - n_known / np.maximum(lengths, 1), 1.0)
    bare = [not any(map(str.isalnum, word)) for word in words]
    return np.column_stack([unknown, np.append(bare, False) & (unknown == 1)])


def _with_flags(table: Any, flags: np.ndarray) -> Any:
    """Append flags to vectors."""
    if isinstance(table, np.ndarray):
        return np.hstack([table, flags], dtype=np.float32)
    import scipy.sparse

    return scipy.sparse.csr_matrix(
        scipy.sparse.hstack([table, scipy.sparse.csr_matrix(flags)]), dtype=np.float32
    )
