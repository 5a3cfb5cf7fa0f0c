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
    """A table of vectors, and which of them are each sentence's.

    Attributes
    ----------
    table : float32 (R, D) or scipy.sparse CSR (R, D)
        A row for each different word, or for each word of the text.
    bags : Bags
        All sentences.
    composed, zero : bool (n_words,)
        Whether a word's vector is made of n-grams; whether it has none, though it has a letter
        or digit.
    """

    table: Any
    bags: Bags
    composed: np.ndarray
    zero: np.ndarray

    def with_any(self, words: np.ndarray) -> np.ndarray:
        """Tell which sentences have a word of some kind.

        Parameters
        ----------
        words : bool (n_words,)
            Such as ``zero``.

        Returns
        -------
        bool (n_sentences,)
            True for each such sentence.
        """
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return np.asarray(sums[self.bags.offsets[1:]] > sums[self.bags.offsets[:-1]])


def cut_sentence(
    cut: Callable[[str], list[str]], text: str, *, as_written: bool = False
) -> list[str]:
    """Cut a sentence into words.

    Parameters
    ----------
    cut : callable
        Gives the words of a text, as vectors or an encoder do.
    text : str
        A sentence; what stands between white space is cut by itself.
    as_written : bool
        Leave what is one word as it stands, and give of what ``cut`` gives nothing for the runs
        of letters and digits, and single marks: for vectors, which cut what they look up.

    Returns
    -------
    list of str
        Perhaps empty, unless ``as_written``.

    Examples
    --------
    >>> def cut(text):
    ...     return text.lower().split("-") if text.isascii() else []
    >>> cut_sentence(cut, "Half-way There é!")
    ['half', 'way', 'there']
    >>> cut_sentence(cut, "Half-way There é!", as_written=True)
    ['half', 'way', 'There', 'é', '!']
    """
    if not as_written:
        return [word for token in text.split() for word in cut(token)]
    words = []
    for token in text.split():
        parts = cut(token) or likely_parts(token)
        words += [token] if len(parts) == 1 else parts
    return words


def static_sentences(vectors: StaticVectors, sentences: Sequence[Sequence[str]]) -> SentenceInputs:
    """Look words up, each by itself.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    sentences : sequence of sequences of str
        Words.

    Returns
    -------
    SentenceInputs
        Behind each vector stand two numbers, as :class:`~embed.compare.tasks.tagging.inputs.Inputs`
        has them: an unknown word is a zero vector with a mark.

    Raises
    ------
    ArtifactError
        A vector holds NaN or infinity.
    """
    words = [word for sentence in sentences for word in sentence]
    found = static_inputs(vectors, words)
    zero = found.zero & np.array([any(map(str.isalnum, word)) for word in words], dtype=bool)
    return SentenceInputs(found.table, Bags(found.rows, _offsets(sentences)), found.composed, zero)


def state_sentences(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]], layer: int
) -> SentenceInputs:
    """Encode words in their sentences.

    Memory: the states of all words once, and those of some 30,000 words.

    Parameters
    ----------
    encoder : ContextualEncoder
        Reads all of every sentence.
    sentences : sequence of sequences of str
        Words.
    layer : int
        Whose states.

    Returns
    -------
    SentenceInputs
        A row for each word of the text.
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
    """Average the states of the words of each sentence, without keeping them.

    Parameters
    ----------
    encoder : ContextualEncoder
        Reads all of every sentence.
    sentences : sequence of sequences of str
        Words.
    layer : int
        Whose states.

    Returns
    -------
    float32 (n_sentences, D)
        Zero for a sentence without words.
    """
    return np.array(
        [
            of_words.sum(axis=0) / max(len(of_words), 1)
            for _, states in encode_in_blocks(encoder, sentences, [layer])
            for of_words in states
        ],
        dtype=np.float32,
    )


def mean_pooled(inputs: SentenceInputs) -> Any:
    """Average the vectors of the words of each sentence.

    Parameters
    ----------
    inputs : SentenceInputs
        Dense or sparse.

    Returns
    -------
    float32 (n_sentences, D) or scipy.sparse CSR (n_sentences, D)
        Zero for a sentence without words. Of one-hot vectors: how often each word stands there,
        over the length of the sentence.
    """
    import scipy.sparse

    bags = inputs.bags
    shares = np.repeat(1 / np.maximum(bags.lengths, 1), bags.lengths).astype(np.float32)
    shape = len(bags.lengths), inputs.table.shape[0]
    return scipy.sparse.csr_matrix((shares, bags.rows, bags.offsets), shape=shape) @ inputs.table


def _offsets(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Where sentences begin and end, in words."""
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)
