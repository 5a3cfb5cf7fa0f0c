"""Word vectors in scikit-learn: a transformer of texts."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.embed.contextual.sif import common_direction, weights_of, without_direction
from firth.embed.vectors.opened import opened
from firth.embed.vectors.word_vectors import WordVectors

_WEIGHTINGS = ("sif", "mean", "tfidf")


@suggesting
class TextVectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns each text into one vector, a weighted mean of the vectors of its words.

    Texts are split into words as by ``vectors.words``. Words without a vector are left out; a
    text without any other has a vector of zeros.

    Parameters
    ----------
    vectors : WordVectors, str or path
        Vectors, or the path of a run or a file of vectors. Clones share them.
    weighting : {'sif', 'mean', 'tfidf'}
        ``sif`` weighs a word of probability p by 0.001 / (0.001 + p) and subtracts from each text
        its projection on the first singular vector of the texts of ``fit`` (Arora, Liang & Ma 2017,
        "A Simple but Tough-to-Beat Baseline for Sentence Embeddings"); p is that of the corpus of
        the vectors, or of the texts of ``fit`` if vectors have no counts. ``tfidf`` weighs by the
        logarithm of (1 + n) / (1 + d), plus 1, of a word in d of the n texts of ``fit``.

    Attributes
    ----------
    vectors_ : WordVectors
        The opened vectors.
    frequencies_ : dict
        Of each word of the texts of ``fit``, in how many it is, or for ``sif`` its tokens.
    common_ : float64 (D,)
        The singular vector; zero unless ``weighting`` is ``sif``.

    Examples
    --------
    >>> from firth import WordVectors
    >>> vectors = WordVectors(["sea", "ship"], np.eye(2, dtype=np.float32))
    >>> TextVectors(vectors, weighting="mean").fit_transform(["sea ship", "sea", "?"]).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self, vectors: WordVectors | str | os.PathLike[str], *, weighting: str = "sif"
    ) -> None:
        self.vectors = vectors
        self.weighting = weighting

    def __sklearn_clone__(self) -> "TextVectors":
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.vectors_.matrix.shape[1])

    def fit(self, texts: Sequence[str], y: object = None) -> "TextVectors":
        """Learn what the weights need of some texts.

        Parameters
        ----------
        texts : sequence of str
            A list, Series or one-dimensional array of strings.
        y : object
            Not used.

        Returns
        -------
        TextVectors
            Itself.

        Raises
        ------
        SettingError
            If a text is no string, the weighting is unknown, or for ``sif`` fewer than two texts
            have a word with a vector.
        """
        if self.weighting not in _WEIGHTINGS:
            raise SettingError(
                f"weighting must be one of {', '.join(_WEIGHTINGS)}, got {self.weighting!r}"
            )
        self.vectors_ = opened(self.vectors)
        counts, words = self._counted(texts)
        totals = counts if self.weighting == "sif" else counts > 0
        totals = np.asarray(totals.sum(axis=0)).ravel().tolist()
        self.frequencies_ = Counter(dict(zip(words, totals, strict=True)))
        self._size = sum(totals) if self.weighting == "sif" else counts.shape[0]
        self.common_ = np.zeros(self._n_features_out)
        if self.weighting == "sif":
            means = self._means(counts, words)
            if np.count_nonzero(means.any(axis=1)) < 2:
                raise SettingError(
                    "fewer than two texts have a word with a vector, so that all they hold is "
                    "common to all, which SIF subtracts; pass more texts"
                )
            exact = means.astype(np.float64)
            self.common_ = common_direction(exact.T @ exact)
        return self

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of some texts.

        Parameters
        ----------
        texts : sequence of str
            As for ``fit``.

        Returns
        -------
        float32 (n, D)
        """
        check_is_fitted(self)
        means = self._means(*self._counted(texts))
        return without_direction(means, self.common_)

    def _counted(self, texts: Sequence[str]) -> tuple[Any, list[str]]:
        """Return how often each word is in each text, CSR (n, w), and the words."""
        if isinstance(texts, str) or not hasattr(texts, "__len__"):
            raise SettingError(f"pass a list of texts, got {type(texts).__name__}")
        if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) != 1:  # iterated by its names
            raise SettingError(
                f"pass one column of texts, such as frame['text'], got {type(texts).__name__}"
            )
        number_of: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise SettingError(f"text {number} must be a string, got {type(text).__name__}")
            words = self.vectors_.words(text)
            columns += [number_of.setdefault(word, len(number_of)) for word in words]
            ends.append(len(columns))
        shape = (len(texts), len(number_of))
        counts = scipy.sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape)
        counts.sum_duplicates()
        return counts, list(number_of)

    def _means(self, counts: Any, words: list[str]) -> np.ndarray:
        """Return the weighted mean of the words of each text, float32 (n, D)."""
        rows = self.vectors_.rows(words)
        known = rows.any(axis=1)
        weights = self._weights(words)
        sums = counts @ (weights[:, None] * rows)
        sizes = counts @ (known if self.weighting == "sif" else known * weights)
        return np.asarray(sums / np.maximum(sizes, 1e-9)[:, None], np.float32)

    def _weights(self, words: list[str]) -> np.ndarray:
        """Return the weight of each word, float64 (w,)."""
        if self.weighting == "mean":
            return np.ones(len(words))
        counts = np.array([self.frequencies_[word] for word in words], dtype=np.float64)
        if self.weighting == "tfidf":
            return np.log((1 + self._size) / (1 + counts)) + 1
        size = self._size
        if self.vectors_.counts is not None and self.vectors_.counts.any():
            numbers = [self.vectors_.row(word) for word in words]
            counts = np.array([0 if row is None else self.vectors_.counts[row] for row in numbers])
            size = self.vectors_.counts.sum()
        return weights_of(counts, size)
