"""Vectors of a run that has an encoder, which tasks about words in context may ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from embed.protocols import AttentionReader, ContextualEncoder, SentenceScorer, StaticVectors


@dataclass(frozen=True, eq=False)
class WithEncoder:
    """Static vectors, and the encoder that they were pooled from, opened when it is asked for."""

    vectors: StaticVectors  # what tasks that know nothing of context see
    open_encoder: Callable[[], ContextualEncoder]  # gives the encoder
    # the layers whose states were pooled, where that is known
    layers: tuple[int, ...] | None = None

    @cached_property
    def encoder(self) -> ContextualEncoder:
        """The encoder, opened once."""
        return self.open_encoder()

    @property
    def name(self) -> str:
        """What messages and tables call these vectors."""
        return getattr(self.vectors, "name", "vectors")

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words; position = row."""
        return self.vectors.vocabulary

    @property
    def matrix(self) -> Any:
        """(V, D): one row per word."""
        return self.vectors.matrix

    @property
    def counts(self) -> np.ndarray | None:
        """Occurrences of each word, int64 (V,); None where they are unknown."""
        return getattr(self.vectors, "counts", None)

    def row(self, word: str) -> int | None:
        """Find a word, as :meth:`StaticVectors.row` does."""
        return self.vectors.row(word)

    def vector(self, word: str) -> np.ndarray | None:
        """Give the vector of a word, as :meth:`StaticVectors.vector` does."""
        # returns float32 (D,) or None
        return self.vectors.vector(word)

    def words(self, text: str) -> list[str]:
        """Cut text into words, as :meth:`StaticVectors.words` does."""
        return self.vectors.words(text)


def encoder_of(vectors: StaticVectors) -> ContextualEncoder | None:
    """Find the encoder that vectors were pooled from."""
    return vectors.encoder if isinstance(vectors, WithEncoder) else None


def scorer_of(vectors: StaticVectors) -> SentenceScorer | None:
    """Find what scores whole sentences."""
    candidates: tuple[object, ...] = (encoder_of(vectors), vectors)
    return next((each for each in candidates if isinstance(each, SentenceScorer)), None)


def attention_of(vectors: StaticVectors) -> AttentionReader | None:
    """Find what tells where an encoder looks."""
    encoder: object = encoder_of(vectors)
    return encoder if isinstance(encoder, AttentionReader) else None
