"""A space for each period: trained on its documents, or that of a run."""

from collections.abc import Sequence

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import Periods, PeriodText
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.registry import METHODS
from firth.embed.resampling.drawn_text import DrawnCorpus
from firth.embed.svd.train import text_vectors
from firth.embed.vectors.int8_rows import is_dense
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
