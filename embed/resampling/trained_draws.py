"""The same training on random halves of the text, kept in a run: what its vectors owe to chance.

Each draw is a training on a random half of the documents, each taken twice, with another seed. Half
as much text has twice the variance, and two halves of one text share half of theirs, so that draws
vary as other texts of the size of the whole would.
"""

import shutil
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    checksum,
    checksums,
    read_json,
    verify,
    write_json,
)
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.cache import check_once
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.store.corpus import Corpus
from firth.embed.resampling.drawn_text import (
    DrawnCorpus,
    count_documents,
    text_of_units,
    train_again,
    training_documents,
)
from firth.embed.resampling.draws import WIDENED
from firth.embed.runs.run import Run
from firth.embed.vectors.search import unit_matrix
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words

_METHODS = ("skipgram", "cbow", "nplm", "autoencoder")
_FOLDER, _ABOUT, _SIZES = "resamples", "about.json", "sizes.npy"
_LARGEST = 127  # entry of a vector in 8 bits
_PAIRS = 1 << 15  # of words whose cosines are computed at once
_KNOWN = 0.75  # share of the draws that must have a word
_FREQUENT = 5000  # words by which a draw is rotated


def train_draws(run: Path, corpus: Corpus, config: Any, resamples: int) -> "TrainedDraws":
    """Train so many draws of a run on its corpus; those that it has already stay."""
    vectors, method, folder = WordVectors.open(run), Run.open(run).method, run / _FOLDER
    unit, text = text_of_units(corpus)
    about = {"version": 1, "run": checksum(run / CHECKSUMS), "unit": unit}
    try:
        fits = read_json(folder / _ABOUT) == about
        if (folder / CHECKSUMS).is_file():
            verify(folder)
    except ArtifactError:  # there is nothing, or it is damaged
        fits = False
    if not fits:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        save_array(folder / _SIZES, _sizes(corpus, vectors, unit))
        write_whole(folder / _ABOUT, partial(write_json, value=about))
    documents, n_documents = training_documents(text), count_documents(text)
    try:
        with progress("resampling", "runs") as show:
            for number in range(resamples):
                show(number, resamples)
                if _is_whole(file := folder / f"{number + 1}.npy", vectors):
                    continue
                order = np.random.default_rng([config.seed, number]).permutation(documents)
                copies = 2 * np.bincount(order[: len(order) // 2], minlength=n_documents)
                half = DrawnCorpus(corpus, text, copies, f"half-{number + 1}")
                drawn = train_again(str(method), config, half, number + 1)
                write_whole(file, partial(save_array, values=_codes(drawn, vectors)))
    except KeyboardInterrupt:
        note("interrupted; run the same command to resume")
        raise
    write_whole(folder / CHECKSUMS, partial(write_json, value=checksums(folder)))
    return TrainedDraws(vectors, folder)


def _is_whole(file: Path, vectors: WordVectors) -> bool:
    """Return whether a draw is there, of the shape that it has."""
    try:
        codes = map_array(file, again="", missing="")
    except ArtifactError:
        return False
    return codes.shape == (len(vectors), vectors.dim) and codes.dtype == np.int8


def trained_draws(vectors: WordVectors, unit: str | None = None) -> "TrainedDraws | None":
    """Open the draws of a run; None if SVD, which needs none. Raise if there are none."""
    run = None if vectors.path is None else Run.open(vectors.path)
    method = None if run is None else run.method
    if run is None or method not in _METHODS:
        if method == "svd":
            return None
        what = "a masked LM has" if method == "mlm" else "has"
        raise SettingError(
            f"{vectors.name}: {what} no intervals; train an SVD on the same text, which has"
        )
    folder = run.path / _FOLDER
    about = read_json(folder / _ABOUT) if (folder / CHECKSUMS).is_file() else {}
    if about.get("run") != checksum(run.path / CHECKSUMS):  # none, or those of an earlier run
        raise SettingError(
            f"{vectors.name}: has no draws of its text; add `resamples=20` to the train-{method} "
            "command that made it, which keeps the run and trains them"
        )
    draws = TrainedDraws(vectors, folder)
    if unit not in (None, draws.unit):
        raise SettingError(f"{vectors.name}: has draws of its {draws.unit}s; pass no other `unit`")
    return draws


class TrainedDraws:
    """Vectors of the words of a run by trainings on random halves of its text."""

    def __init__(self, vectors: WordVectors, folder: Path) -> None:
        check_once(sorted(folder.glob("*")), lambda: verify(folder))
        self.unit: str = read_json(folder / _ABOUT)["unit"]
        # without what a training that was interrupted has added
        names = sorted(read_json(folder / CHECKSUMS).keys() - {_ABOUT, _SIZES})
        self._codes = [map_array(folder / name, again="", missing="") for name in names]
        self._sizes = map_array(folder / _SIZES, again="", missing="")
        self._matrix = vectors.matrix
        self.n_draws = len(names)
        self.fewest = 0  # halves share most documents

    def spread(self, row: int) -> float:
        """Return the number of units with a word, as if all had equally many of its tokens."""
        return float(self._sizes[1, row])

    def tokens(self, *rows: int) -> int:
        """Return the tokens of the rarest of some words."""
        return int(self._sizes[0, list(rows)].min())

    def cosines(self, pairs: np.ndarray) -> np.ndarray:
        """Return the cosine of each pair of rows in each draw, float32 (n, J); NaN without one."""
        # pairs: int64 (n, 2)
        cosines = np.empty((len(pairs), self.n_draws), np.float32)
        for first in range(0, len(pairs), _PAIRS):
            part = cosines[first : first + _PAIRS]
            rows, places = np.unique(pairs[first : first + _PAIRS], return_inverse=True)
            a, b = places.reshape(-1, 2).T
            for number, codes in enumerate(self._codes):
                units = _units(codes, rows)
                part[:, number] = np.einsum("nd,nd->n", units[a], units[b])
        return cosines

    def vectors(self, row: int) -> np.ndarray:
        """Return unit vectors of a word by draw, rotated onto the run; NaN where it is missing."""
        # returns float32 (J, D)
        units = (_units(codes, np.array([row]))[0] for codes in self._codes)
        return np.array([unit @ by for unit, by in zip(units, self._rotations, strict=True)])

    def deviations(self, values: np.ndarray) -> np.ndarray:
        """Return how far values are from their mean, scaled to chance; zeros if many are NaN."""
        known = np.isfinite(values)
        n = known.sum(axis=-1, keepdims=True)
        away = np.where(known, values, 0)
        away -= np.where(known, away.sum(axis=-1, keepdims=True) / np.maximum(n, 1), 0)
        enough = n >= _KNOWN * values.shape[-1]
        return np.where(enough, away * WIDENED / np.sqrt(np.maximum(n - 1, 1)), 0)

    @cached_property
    def _rotations(self) -> list[np.ndarray]:
        """The rotation of each draw that brings frequent words closest to those of the run."""
        # float32 (D, D) each
        rows = np.arange(min(_FREQUENT, len(self._matrix)))
        products = (unit_matrix(each, rows).T @ unit_matrix(self._matrix, rows)
                    for each in self._codes)  # fmt: skip
        singular = (np.linalg.svd(each, full_matrices=False) for each in products)
        return [u @ vt for u, _, vt in singular]


def _units(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return unit vectors of a draw, float32 (n, D); NaN for words that it lacks."""
    units = unit_matrix(codes, rows)
    units[~units.any(axis=1)] = np.nan
    return units


def _codes(drawn: WordVectors, vectors: WordVectors) -> np.ndarray:
    """Return drawn vectors of the words up to factors, int8 (V, D); zeros for missing ones."""
    index = index_words(drawn.vocabulary)
    rows = np.array([index.get(word, -1) for word in vectors.vocabulary])
    units = unit_matrix(drawn.matrix, rows[rows >= 0])
    codes = np.zeros((len(rows), drawn.dim), np.int8)
    codes[rows >= 0] = np.rint(units * (_LARGEST / np.abs(units).max(1, initial=1e-9)[:, None]))
    return codes


def _sizes(corpus: Corpus, vectors: WordVectors, unit: str) -> np.ndarray:
    """Return the tokens of each word, and its units as if all had equally many of its tokens."""
    # returns float64 (2, V)
    from scipy import sparse

    words = list(vectors.vocabulary)
    view = corpus.view(max_vocabulary=len(words), keep=words)
    index = index_words(view.words)
    view = view.ordered(np.array([index[word] for word in words]))
    tokens, squares = np.zeros((2, len(words)))
    units = view.units_of_tokens(unit)  # type: ignore[arg-type]
    for (rows, _), numbers in zip(view.shards(), units, strict=True):
        shape = (len(words), int(numbers.max(initial=0)) + 1)
        counts = sparse.coo_array((np.ones(len(rows)), (rows, numbers)), shape).tocsr()
        tokens += counts.sum(axis=1)
        squares += counts.power(2).sum(axis=1)
    return np.array([tokens, tokens**2 / np.maximum(squares, 1)])
