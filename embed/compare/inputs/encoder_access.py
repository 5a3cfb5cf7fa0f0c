"""Static vectors with the encoder they were pooled from, for tasks on words in context."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firth.embed.protocols import (
    AttentionReader,
    ContextualEncoder,
    SentenceScorer,
    StaticVectors,
    needs_trees,
)

NEEDS_TREES = "its encoder needs dependency trees"


@dataclass(frozen=True, eq=False)
class WithEncoder:
    """Static vectors with the encoder they were pooled from, opened on first use."""

    vectors: StaticVectors  # used by tasks without context
    open_encoder: Callable[[], ContextualEncoder]
    layers: tuple[int, ...] | None = None  # pooled layers; None if unknown, or of masked words
    masked_layers: tuple[int, ...] | None = None  # the same if they were pooled from masked words

    @cached_property
    def encoder(self) -> ContextualEncoder:
        """The encoder, opened on first access."""
        return self.open_encoder()

    @property
    def name(self) -> str:
        """Name of the vectors in messages and tables."""
        return getattr(self.vectors, "name", "vectors")

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words, in row order."""
        return self.vectors.vocabulary

    @property
    def matrix(self) -> Any:
        """Word vectors, (V, D)."""
        return self.vectors.matrix

    @property
    def counts(self) -> np.ndarray | None:
        """Word counts, int64 (V,); None if unknown."""
        return getattr(self.vectors, "counts", None)

    @property
    def text(self) -> Any:
        """The text settings of the vectors; None if unknown."""
        return getattr(self.vectors, "text", None)

    def row(self, word: str) -> int | None:
        """Return the row of a word, as :meth:`StaticVectors.row`."""
        return self.vectors.row(word)

    def vector(self, word: str) -> np.ndarray | None:
        """Return the vector of a word, as :meth:`StaticVectors.vector`."""
        return self.vectors.vector(word)

    def words(self, text: str) -> list[str]:
        """Segment text into words, as :meth:`StaticVectors.words`."""
        return self.vectors.words(text)


def encoder_of(vectors: StaticVectors, *, trees: bool = False) -> ContextualEncoder | None:
    """Return the encoder that vectors were pooled from, if it can read text without ``trees``."""
    if not trees and lacks_trees(vectors):
        return None
    return vectors.encoder if isinstance(vectors, WithEncoder) else None


def lacks_trees(vectors: StaticVectors) -> bool:
    """Return whether the encoder of vectors cannot read text without dependency trees."""
    return isinstance(vectors, WithEncoder) and needs_trees(vectors.encoder)


def static_note(vectors: StaticVectors) -> str:
    """Return the start of a note that tells why an encoder was not used; empty without one."""
    return f"{NEEDS_TREES}, so its static vectors are scored; " if lacks_trees(vectors) else ""


def scorer_of(vectors: StaticVectors) -> SentenceScorer | None:
    """Return the object that scores sentences, the encoder or the vectors themselves, if any."""
    candidates: tuple[object, ...] = (encoder_of(vectors), vectors)
    return next((each for each in candidates if isinstance(each, SentenceScorer)), None)


def attention_of(vectors: StaticVectors) -> AttentionReader | None:
    """Return the encoder if it provides attention weights."""
    encoder: object = encoder_of(vectors, trees=True)  # it tells itself what it needs
    return encoder if isinstance(encoder, AttentionReader) else None
