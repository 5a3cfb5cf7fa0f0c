"""What a probe sees of each word: its vector, or its state in its sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from embed.compare.inputs.lookup import FoundWords, find_words, finite_units
from embed.contextual.batches import WORDS_AT_ONCE, encode_in_blocks
from embed.protocols import ContextualEncoder, StaticVectors

N_MARKS = 2  # numbers behind each vector
_PARTS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Inputs:
    """A table of vectors, and which of them is each word's."""

    # float32 (R + 1, D + 2) or scipy.sparse CSR (R + 1, D + 2): behind the vector stand two
    # numbers: the share of the word's parts that have no vector, and 1 for an unknown word without
    # any letter or digit. The last row stands for what lies outside of a sentence: a zero vector
    # and those of an unknown word
    table: Any
    rows: np.ndarray  # int64 (n_words,): the row of each word
    # bool (n_words,): whether a word's vector is made of n-grams or of several parts; whether it
    # has none
    composed: np.ndarray
    # bool (n_words,): whether a word's vector is made of n-grams or of several parts; whether it
    # has none
    zero: np.ndarray

    def windows(self, offsets: np.ndarray, radius: int) -> np.ndarray:
        """Give the rows of each word and of its neighbors in the sentence."""
        # offsets: int64 (n_sentences + 1,); returns int64 (n_words, 2 * radius + 1)
        lengths = np.diff(offsets)
        first, behind = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
        places = np.arange(len(self.rows))[:, None] + np.arange(-radius, radius + 1)
        outside = (places < first[:, None]) | (places >= behind[:, None])
        rows = self.rows[np.clip(places, 0, len(self.rows) - 1)]
        return np.where(outside, self.table.shape[0] - 1, rows)


def likely_parts(word: str) -> list[str]:
    """Cut a word into runs of letters and digits, and single marks."""
    return _PARTS.findall(word)


def static_inputs(vectors: StaticVectors, words: Sequence[str]) -> Inputs:
    """Look words up, each by itself."""
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
    marks = _marks(list(forms), lengths, n_known)
    table = _with_marks(means @ _taken(vectors, used, found), marks)
    made = np.array([found.has_composed(each[None])[0] for each in places], dtype=bool)
    rows = np.array([forms[word] for word in words], dtype=np.int64)
    composed = made | ((lengths > 1) & (n_known > 0))
    return Inputs(table, rows, composed[rows], (n_known == 0)[rows])


def state_inputs(
    encoder: ContextualEncoder,
    words: Sequence[str],
    offsets: np.ndarray,
    layer: int,
    at_once: int = WORDS_AT_ONCE,
) -> Inputs:
    """Encode words in their sentences.

    Memory: the table, and the states of ``at_once`` words.
    """
    # offsets: int64 (n_sentences + 1,)
    parts = _cut(encoder, words)
    lengths = np.array([len(each) for each in parts], dtype=np.int64)
    table: np.ndarray | None = None
    sentences = sentences_of(parts, offsets)
    for first, block in encode_in_blocks(encoder, sentences, [layer], at_once, offsets):
        states = np.concatenate(block)
        if table is None:
            table = np.zeros((len(words) + 1, states.shape[1] + N_MARKS), np.float32)
        own = slice(int(offsets[first]), int(offsets[first + len(block)]))
        owners = np.repeat(np.arange(own.stop - own.start), lengths[own])
        shape = own.stop - own.start, len(states)
        table[own, :-N_MARKS] = _means(owners, np.arange(len(states)), shape) @ states
    assert table is not None
    table[:, -N_MARKS:] = _marks(words, lengths, lengths)
    nothing = lengths == 0
    return Inputs(table, np.arange(len(words)), np.zeros(len(words), dtype=bool), nothing)


def sentences_read(
    encoder: ContextualEncoder, words: Sequence[str], offsets: np.ndarray
) -> list[list[str]]:
    """Give the sentences as :func:`state_inputs` has them encoded."""
    # offsets: int64 (n_sentences + 1,)
    return sentences_of(_cut(encoder, words), offsets)


def sentences_of(parts: Sequence[Sequence[str]], offsets: np.ndarray) -> list[list[str]]:
    """Join the parts of the words of each sentence."""
    # offsets: int64 (n_sentences + 1,)
    bounds = offsets.tolist()
    return [
        [part for each in parts[start:stop] for part in each] for start, stop in pairwise(bounds)
    ]


def _cut(encoder: ContextualEncoder, words: Iterable[str]) -> list[list[str]]:
    """The parts of each word."""
    kept: dict[str, list[str]] = {}
    return [kept[w] if w in kept else kept.setdefault(w, encoder.words(w)) for w in words]


def _parts(vectors: StaticVectors, word: str) -> list[str]:
    """The texts by which a word is looked up: itself, unless it is cut."""
    words = vectors.words(word)
    return [word] if len(words) == 1 else words or likely_parts(word)


def _means(owners: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """A matrix that averages the rows of each owner, scipy.sparse CSR float32."""
    import scipy.sparse

    shares = 1 / np.bincount(owners, minlength=shape[0])[owners]
    return scipy.sparse.csr_matrix((shares.astype(np.float32), (owners, columns)), shape=shape)


def _taken(vectors: StaticVectors, places: np.ndarray, found: FoundWords) -> Any:
    """The vectors at some places, ascending; of sparse ones the dimensions that they use."""
    inside = places < found.n_words
    rows = vectors.matrix[places[inside]]
    if not np.isfinite(np.asarray(rows.sum(dtype=np.float64))):
        finite_units(vectors, places[inside])  # names the word
    others = found.composed[places[~inside] - found.n_words]
    if isinstance(rows, np.ndarray):
        return np.concatenate([rows, others])
    import scipy.sparse

    taken = scipy.sparse.csr_matrix(scipy.sparse.vstack([rows, others]))
    return taken[:, np.unique(taken.indices)]


def _marks(words: Sequence[str], lengths: np.ndarray, n_known: np.ndarray) -> np.ndarray:
    """What is to be known of unknown words, float64 (R + 1, N_MARKS)."""
    unknown = np.append(1 - n_known / np.maximum(lengths, 1), 1.0)
    bare = [not any(map(str.isalnum, word)) for word in words]
    return np.column_stack([unknown, np.append(bare, False) & (unknown == 1)])


def _with_marks(table: Any, marks: np.ndarray) -> Any:
    """Vectors, and marks behind them."""
    if isinstance(table, np.ndarray):
        return np.hstack([table, marks], dtype=np.float32)
    import scipy.sparse

    return scipy.sparse.csr_matrix(
        scipy.sparse.hstack([table, scipy.sparse.csr_matrix(marks)]), dtype=np.float32
    )
