"""A space for each period: trained on its documents or that of a run, turned onto the first one.

Hamilton, Leskovec & Jurafsky 2016, "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
Change", section 3; the rotation is that of Schoenemann 1966.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.align.mapping import procrustes
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import Periods, PeriodText
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.registry import METHODS
from firth.embed.resampling.drawn_text import DrawnCorpus
from firth.embed.svd.train import text_vectors
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors


def train_spaces(
    periods: Periods, texts: Sequence[PeriodText], words: Sequence[str], settings: ChangeConfig
) -> list[np.ndarray]:
    """Train on each period, float32 (n_words, D); words without a vector have zeros."""
    config = settings.training
    if settings.trains_svd:
        return [text_vectors(text, config, len(words), name="a period")[0] for text in texts]
    train = METHODS[str(settings.method)].train_function()
    spaces = []
    for number, name in enumerate(periods.names):
        copies = (periods.period_of == number).astype(np.int64)
        corpus = DrawnCorpus(periods.corpora[0], periods.stored, copies, name, held_out=True)
        spaces.append(rows_of(train(corpus, config), words))
    return spaces


def spaces_of(runs: Sequence[WordVectors], words: Sequence[str]) -> list[np.ndarray]:
    """Return the vectors of words by each run, float32 (n_words, D); zeros without one."""
    for run in runs:
        if not is_dense(run.matrix):
            raise SettingError(f"{run.name}: has sparse vectors, which are not compared")
        if run.dim != runs[0].dim:
            raise SettingError(
                f"{runs[0].name} has {runs[0].dim} dimensions and {run.name} {run.dim}; train both "
                "with the same `dim`"
            )
    return [rows_of(run, words) for run in runs]


def rows_of(vectors: WordVectors, words: Sequence[str]) -> np.ndarray:
    """Return the vectors of words at unit length; zeros for those without a row."""
    # returns float32 (n_words, D)
    found = {
        row: place for place, word in enumerate(words) if (row := vectors.row(word)) is not None
    }
    made = np.zeros((len(words), vectors.dim), np.float32)
    made[list(found.values())] = finite_units(vectors, np.array(list(found), np.int64))
    return made


def have_vectors(spaces: Sequence[np.ndarray]) -> np.ndarray:
    """Return which words have a vector in every space, bool (n_words,)."""
    return np.logical_and.reduce([space.any(axis=1) for space in spaces])


def align(spaces: Sequence[np.ndarray], shared: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the first space and the others, rotated onto it, all centered on the shared words."""
    # spaces: float32 (V, D) each; shared: bool (V,); yields float32 (V, D)
    prepared = [_prepared(space, shared) for space in spaces]
    yield prepared[0].astype(np.float32)
    for other in prepared[1:]:
        turn = procrustes(other[shared], prepared[0][shared])
        yield (other @ turn).astype(np.float32)


def _prepared(space: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Return centered unit vectors, float64 (V, D); zero vectors stay zero."""
    units = unit_length(space.astype(np.float64))
    centered = np.where(units.any(axis=1, keepdims=True), units - units[shared].mean(axis=0), 0.0)
    return np.asarray(unit_length(centered))
