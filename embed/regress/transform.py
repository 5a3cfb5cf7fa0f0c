"""The matrix that maps the mean vector of a word's contexts to the vector of the word.

Khodak et al. 2018, "A La Carte Embedding": least squares of the vectors of frequent words on the
means of their contexts. Words of any kind can then have vectors from a few occurrences.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array
from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.store.corpus import Corpus
from firth.embed.regress.config import WEIGHTS
from firth.embed.regress.occurrences import rows_of
from firth.embed.svd.cooccurrence import count_cooccurrences
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors

KEPT = "a_la_carte.json"
_WEIGHT: dict[str, Callable[[np.ndarray], np.ndarray]] = dict(
    zip(WEIGHTS, (np.log, np.asarray, np.ones_like), strict=True)
)
_TOKENS = 5_000_000  # of the text that is read
_WORDS = 60_000  # whose contexts are counted
_TESTED = 5  # every fifth word is left out once, to see how well its vector is found
_FREQUENT, _MANY = 100, 10  # by default words of 100 tokens, or less to have ten a dimension
_RIDGE = 1e-6  # of the mean of the diagonal


@dataclass(frozen=True)
class TransformSettings:
    """How the matrix is estimated."""

    window: int
    weights: str  # of a word, by its count
    min_count: int | None  # of words that it is estimated from; None to choose


@dataclass(frozen=True, eq=False)
class Transform:
    """The matrix, and what it was estimated from."""

    matrix: np.ndarray  # float64 (D, D): A of v = A u
    source: str
    words: int | None = None  # that it was estimated from
    cosine: float | None = None  # mean, of words left out with their vectors

    def about(self) -> dict[str, Any]:
        """Return what a result says of it."""
        return {"source": self.source, "words": self.words, "cosine": self.cosine}


def open_transform(vectors: WordVectors, corpus: Corpus, settings: TransformSettings) -> Transform:
    """Open what a run keeps, or estimate it from the corpus and keep it."""
    file = None if vectors.path is None else vectors.path / KEPT
    made_by = {**asdict(settings), "corpus": corpus.fingerprint}
    if file is not None and file.is_file():
        with contextlib.suppress(ArtifactError, KeyError, TypeError, ValueError):
            kept = read_json(file)
            if kept["made_by"] == made_by:
                matrix = np.array(kept["matrix"], np.float64).reshape(vectors.dim, vectors.dim)
                return Transform(matrix, kept["source"], kept["words"], kept["cosine"])
    found = estimate(vectors, corpus, settings)
    if file is not None:
        about = {"made_by": made_by, **found.about(), "matrix": found.matrix.tolist()}
        with contextlib.suppress(OSError, ArtifactError):  # else estimated each time, in seconds
            write_whole(file, lambda path: write_json(path, about))
            note(f"{file}: the à-la-carte matrix of {corpus.path}, estimated once")
    return found


def estimate(vectors: WordVectors, corpus: Corpus, settings: TransformSettings) -> Transform:
    """Estimate the matrix from up to five million tokens of a corpus."""
    from scipy.sparse import csr_array

    view = corpus.sample(_TOKENS).view(punctuation="drop")
    n_words = min(len(view.words), _WORDS)
    rows = rows_of(vectors, view.words[:n_words])
    with progress("counting contexts", "words") as show:
        counted = count_cooccurrences(
            view, window=settings.window, n_words=n_words, weighting="flat", progress=show
        )
    shape = n_words, n_words
    contexts = csr_array((counted.counts, counted.columns, counted.starts), shape=shape)
    known = np.flatnonzero(rows >= 0)
    counts = view.counts[known]
    min_count = settings.min_count
    if min_count is None:
        tenth = counts[min(_MANY * vectors.dim, len(counts)) - 1] if len(counts) else 0
        min_count = int(min(_FREQUENT, max(tenth, 2)))
    frequent = known[counts >= min_count]
    near = contexts[frequent][:, known].astype(np.float32)
    totals = np.asarray(near.sum(axis=1)).ravel()
    frequent, near, totals = frequent[totals > 0], near[totals > 0], totals[totals > 0]
    if len(frequent) < 2 * vectors.dim:
        raise SettingError(
            f"{corpus.path}: {len(frequent):,} words with vectors occur {min_count} times "
            f"or more, fewer than twice the {vectors.dim} dimensions, so that the à-la-carte "
            "matrix cannot be estimated; pass a smaller `min_count`, or a `transform`"
        )
    targets = np.asarray(vectors.matrix[rows[frequent]], np.float64)
    means = near @ np.asarray(vectors.matrix[rows[known]], np.float32)
    means = means.astype(np.float64) / totals[:, None]
    weights = _WEIGHT[settings.weights](view.counts[frequent].astype(np.float64))
    tested = np.arange(len(frequent)) % _TESTED == 0
    partial = _solve(means[~tested], targets[~tested], weights[~tested])
    found = unit_length(means[tested] @ partial.T) * unit_length(targets[tested])
    return Transform(
        _solve(means, targets, weights), str(corpus.path), len(frequent),
        float(found.sum(axis=1).mean()),
    )  # fmt: skip


def _solve(means: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the matrix of the weighted least squares, float64 (D, D)."""
    products = (means.T * weights) @ means
    products[np.diag_indices(len(products))] += _RIDGE * np.trace(products) / len(products)
    return np.asarray(np.linalg.solve(products, (means.T * weights) @ targets).T)


def read_transform(path: str | os.PathLike[str], dim: int) -> Transform:
    """Read a matrix: a .npy file, or a text of numbers, a line for each row."""
    path = Path(path)
    if path.suffix == ".npy":
        matrix = map_array(path, again="save it again", missing="no such file")
    else:
        try:
            matrix = np.loadtxt(path, ndmin=2)
        except (OSError, ValueError) as error:
            raise ArtifactError(f"{path}: is no matrix of numbers: {error}") from None
    if matrix.shape != (dim, dim) or not np.isfinite(matrix).all():
        raise ArtifactError(
            f"{path}: has a matrix of {' x '.join(map(str, matrix.shape))}, not one of {dim} x "
            f"{dim} finite numbers, as the vectors need"
        )
    return Transform(np.asarray(matrix, np.float64), str(path))
