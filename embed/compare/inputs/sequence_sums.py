"""Vectors of sequences: sums over their tokens, so that one-hot vectors become counts of tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.embed.compare.inputs.lookup import FoundWords, find_words, finite_units
from firth.embed.protocols import StaticVectors


class SequenceTokens:
    """The tokens of sequences as the corpus of some vectors was cut, looked up."""

    def __init__(self, vectors: StaticVectors, texts: Sequence[str], unknown: str) -> None:
        tokens = [vectors.words(text) for text in texts]
        every = [token for each in tokens for token in each]
        self._vectors, self._bounds = vectors, offsets_of(map(len, tokens))
        self._found: FoundWords = find_words(vectors, every, unknown)
        self._places = self._found.places(every)

    @property
    def known(self) -> np.ndarray:
        """Which sequences have a token with a vector, bool (n,)."""
        return self._with_any(self._places >= 0)

    @property
    def composed(self) -> np.ndarray:
        """Which sequences have a token with a composed vector, bool (n,)."""
        return self._with_any(self._found.has_composed(self._places[:, None]))

    def sums(self) -> Any:
        """Return the sum of the unit vectors of known tokens, float64 (n, D), or CSR."""
        import scipy.sparse

        rows, columns = np.unique(self._places, return_inverse=True)
        counts = scipy.sparse.csr_matrix(
            ((self._places >= 0).astype(np.float64), columns, self._bounds),
            shape=(len(self._bounds) - 1, len(rows)),
        )
        return counts @ finite_units(self._vectors, np.maximum(rows, 0), self._found.composed)

    def _with_any(self, tokens: np.ndarray) -> np.ndarray:
        """Return which sequences have a marked token."""
        # tokens: bool (n_tokens,); returns bool (n,)
        before = np.append(0, np.cumsum(tokens))[self._bounds]
        return np.asarray(before[1:] > before[:-1])
