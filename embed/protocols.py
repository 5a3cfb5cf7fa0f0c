"""The shapes in which evaluation and pooling see a method, and no training code."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class StaticVectors(Protocol):
    """One vector per word: what trained runs, vectors files and baselines have in common."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words; position = row of the matrix. Frequent words first where counts are known."""

    @property
    def matrix(self) -> Any:
        """(V, D): a float32 array, perhaps memory-mapped, or a scipy.sparse CSR matrix."""

    def row(self, word: str) -> int | None:
        """Find the row of a word exactly as spelled in the vocabulary; None if it has none."""

    def vector(self, word: str) -> np.ndarray | None:
        """Give a word's vector, float32 (D,): its row, or composed of its n-grams; None if neither.

        A word that has a row is what :meth:`row` knows; answers are words with rows only.
        """

    def words(self, text: str) -> list[str]:
        """Cut text into words the way the vectors' own corpus was cut."""


@runtime_checkable
class ContextualEncoder(Protocol):
    """One vector per word *occurrence*. Aligning pieces to words is the encoder's own job."""

    @property
    def n_layers(self) -> int:
        """Layers above the embeddings, which are layer 0."""

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode sentences of words: per sentence float32 (n_words, D), the mean over layers."""

    def knows(self, words: Sequence[str]) -> np.ndarray:
        """Tell which words differ from all others to the encoder: bool (n_words,)."""

    def words(self, text: str) -> list[str]:
        """Cut text into words the way the encoder's own corpus was cut."""


@runtime_checkable
class ReadsInWindows(Protocol):
    """An encoder that reads a sentence in overlapping windows where it is longer than a row."""

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Count the windows of each sentence of words: int64 (n_sentences,), 0 of an empty one."""


@runtime_checkable
class InputEmbeddings(Protocol):
    """One vector per word without any context, of the table that an encoder looks words up in."""

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look words up: float32 (n_words, D)."""


@runtime_checkable
class AttentionReader(Protocol):
    """Where an encoder looks while it reads a sentence."""

    def attention(self, words: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Read one sentence: its T pieces, and float32 (L, H, T, T), by layer and head.

        Each piece (third axis) takes so much from each (fourth); rows sum to 1.
        """

    def words(self, text: str) -> list[str]:
        """Cut text into words the way the encoder's own corpus was cut."""


@runtime_checkable
class SentenceScorer(Protocol):
    """A (pseudo) log-likelihood per sentence."""

    def score(
        self, sentences: Sequence[Sequence[str]], *, left_to_right_in_words: bool = True
    ) -> np.ndarray:
        """Score sentences of words: float64 (n_sentences,), natural logarithm.

        Where a scorer sees both sides of a piece, ``left_to_right_in_words`` hides from it what
        follows in its word.
        """

    def words(self, text: str) -> list[str]:
        """Cut text into words the way the scorer's own corpus was cut."""
