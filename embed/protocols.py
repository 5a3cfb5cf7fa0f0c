"""Protocols through which evaluation, pooling and queries use vectors and encoders."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class StaticVectors(Protocol):
    """One vector per word: trained runs, vectors files and baselines."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words in row order; frequent words first where counts are known."""

    @property
    def matrix(self) -> Any:
        """The vectors: float32 (V, D), perhaps memory-mapped, or a scipy.sparse CSR matrix."""

    def row(self, word: str) -> int | None:
        """Return the row of a word as the vocabulary spells it; None if it is not there."""

    def vector(self, word: str) -> np.ndarray | None:
        """Return the vector of a word.

        Parameters
        ----------
        word : str
            In the vocabulary or, where the vectors have n-grams or pieces, any word.

        Returns
        -------
        ndarray or None
            float32 (D,): the word's row, or composed of its n-grams or pieces; None if neither
            exists. Neighbors and analogy answers come from the vocabulary only.
        """

    def words(self, text: str) -> list[str]:
        """Split a sentence, phrase or word, and normalize, as the training corpus was."""


@runtime_checkable
class ContextualEncoder(Protocol):
    """One vector per word *occurrence*; the encoder aligns its pieces with words."""

    @property
    def n_layers(self) -> int:
        """Number of layers above the embeddings, which are layer 0."""

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Return the mean of some layers, 0 to ``n_layers``, by sentence: float32 (n_words, D)."""

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words the encoder represents without an unknown piece, bool (n_words,)."""

    def words(self, text: str) -> list[str]:
        """Split a sentence, phrase or word, and normalize, as the training corpus was."""


def needs_trees(encoder: ContextualEncoder) -> bool:
    """Return whether an encoder reads sentences with dependency trees only."""
    return bool(getattr(encoder, "needs_trees", False))


@runtime_checkable
class WindowedEncoder(Protocol):
    """An encoder that splits sentences beyond its maximum length into overlapping windows."""

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Return the number of windows each sentence is split into.

        int64 (n_sentences,); 0 for an empty sentence.
        """


@runtime_checkable
class MaskedEncoder(Protocol):
    """An encoder that can be kept from seeing a word."""

    def encode_masked(
        self, sentences: Sequence[Sequence[str]], tokens: np.ndarray, layers: Sequence[int]
    ) -> np.ndarray:
        """Encode words that are masked, a few of each sentence at once.

        Parameters
        ----------
        sentences : sequence of sequence of str
            Sentences as words.
        tokens : ndarray
            int64 (n,): which words, counted through all sentences from 0, ascending.
        layers : sequence of int
            Layers to average, 0 to ``n_layers``.

        Returns
        -------
        ndarray
            float32 (n, D).
        """


@runtime_checkable
class JoinableEncoder(MaskedEncoder, Protocol):
    """An encoder whose masked states can be put beside vectors without context."""

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of covered words without context, or their input embeddings.

        float32 (n_words, S): count vectors, or means over the pieces of words without one.
        """

    def n_pieces(self, words: Sequence[str]) -> np.ndarray:
        """Return the number of pieces of any words: int64 (n_words,), at least 1."""


@runtime_checkable
class InputEmbeddings(Protocol):
    """An encoder's context-free word vectors, from its input embedding table."""

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Return the mean input embedding of each covered word's pieces, float32 (n_words, D)."""


@runtime_checkable
class StaticLayers(Protocol):
    """An encoder that states which layers its static vectors are pooled from by default."""

    def static_layers(self) -> tuple[tuple[int, ...], str]:
        """Return the layers to pool if none are chosen, ascending, and the reason, for a note."""


@runtime_checkable
class AttentionReader(Protocol):
    """The attention weights of an encoder."""

    @property
    def attention_layers(self) -> Sequence[int]:
        """The layers that have attention, ascending from 0."""

    def attention(self, words: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return the attention weights of one sentence.

        Parameters
        ----------
        words : sequence of str
            The sentence; a word may be ``[MASK]``.

        Returns
        -------
        pieces : list of str
            The T pieces of the sentence.
        weights : ndarray
            float32 (L, H, T, T) by layer that has attention, head, query piece and key piece; rows
            sum to 1.
        """

    def words_and_masks(self, text: str) -> list[str]:
        """Split text into words, as :meth:`ContextualEncoder.words` does, and keep ``[MASK]``."""


@runtime_checkable
class MaskFiller(Protocol):
    """An encoder that predicts masked pieces."""

    def fill_mask(self, text: str, k: int = 10) -> Sequence[Sequence[tuple[str, float]]]:
        """Return the ``k`` most probable pieces of each ``[MASK]``, with their probabilities."""


@runtime_checkable
class NextWordPredictor(Protocol):
    """An encoder that predicts the word after a text."""

    def predict_next(self, sentences: Sequence[Sequence[str]], words: Sequence[str]) -> np.ndarray:
        """Score some words as what follows each sentence, by their first pieces.

        Parameters
        ----------
        sentences : sequence of sequence of str
            Sentences as words.
        words : sequence of str
            The words to score, at least one.

        Returns
        -------
        ndarray
            float32 (n_sentences, n_words), logarithms of probabilities up to a constant for each
            sentence.
        """

    def words(self, text: str) -> list[str]:
        """Split text into words, as :meth:`ContextualEncoder.words` does."""


@runtime_checkable
class SentenceScorer(Protocol):
    """A model that gives each sentence a (pseudo) log-likelihood."""

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Return the log-likelihood of each sentence.

        Parameters
        ----------
        sentences : sequence of sequence of str
            Sentences as words.
        left_to_right_in_words : bool
            For a bidirectional model: also mask the pieces that follow the scored one within its
            word.

        Returns
        -------
        ndarray
            float64 (n_sentences,), natural logarithm.
        """

    def score_words(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> list[np.ndarray]:
        """Return what each word adds to the log-likelihood of its sentence, as :meth:`score`.

        float64 (n_words,) by sentence; of words that are part of one piece, the first has it all.
        """

    def words(self, text: str) -> list[str]:
        """Split text into words, as :meth:`ContextualEncoder.words` does."""
