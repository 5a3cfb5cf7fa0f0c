"""The routes by which the change of words is measured."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.embed.change.config import PERMUTATIONS, SVD, ChangeConfig
from firth.embed.change.contextual import (
    pair_distances,
    prototypes,
    read_occurrences,
    resampled_errors,
)
from firth.embed.change.joint import joint_space
from firth.embed.change.periods import Periods, PeriodText
from firth.embed.change.permutation import cosine_distances, dealt_text, permuted_distances
from firth.embed.change.result import compared_row
from firth.embed.change.spaces import align, have_vectors, spaces_of, train_spaces
from firth.embed.contextual.encoders import open_encoder
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.embed.protocols import ContextualEncoder
from firth.embed.resampling.chance import pooled_p, typical
from firth.embed.vectors.source import describe_source
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words

_FEWEST = 10  # documents of a period, below which there are few ways to deal them out
_FEWEST_ALIGNED = 3  # words: two are exactly opposite, once they are centered
_RESAMPLES = 200  # of the documents, for intervals of an encoder's distances
_NORMAL = 1.96  # of a 95 % interval
_NO_P = "only `route=svd-joint` has it"
_NO_TEXT = "vectors have no text, so there are no counts and sentences, either"


@dataclass(frozen=True, eq=False)
class ComparedPeriods:
    """What is compared."""

    periods: Periods
    texts: list[PeriodText]
    words: list[str]  # the vocabulary
    counts: np.ndarray  # int64 (K, V)
    rows: np.ndarray  # int64 (n,): words that are frequent enough in every period
    settings: ChangeConfig
    n_untested: int  # words that are as frequent on average, but too rare in a period
    needed: list[int] = field(default_factory=list)  # rows that must be compared
    only: bool = False  # compare no others

    def names(self, rows: np.ndarray) -> list[str]:
        """Return words."""
        return [self.words[row] for row in rows.tolist()]

    @cached_property
    def _index(self) -> dict[str, int]:
        return index_words(self.words)

    def row(self, word: str) -> int:
        """Return the row of a word; raise if it is too rare to be compared."""
        return compared_row(word, self.periods, self._index, self.counts, self.settings.min_count)

    def without_vectors(self, have: np.ndarray, what: str) -> np.ndarray:
        """Return the compared rows without those that have no vectors; raise if one is needed."""
        # have: bool (V,)
        for row in self.needed:
            if not have[row]:
                raise UnknownWordError(f"{self.words[row]!r} has no vector in {what}")
        kept = self.rows[have[self.rows]]
        if not len(kept):
            raise SettingError(f"no frequent {self.periods.noun} has a vector in {what}")
        if missing := len(self.rows) - len(kept):
            note(f"{missing:,} of {len(self.rows):,} types have no vector in {what}: left out")
        return kept


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of the compared words."""

    rows: np.ndarray  # int64 (n,): words, rows of the vocabulary
    vectors: np.ndarray  # float32 (K, V, D); contextual: of the compared words only
    columns: dict[str, Any]  # of the table
    no_p: str | None = None  # why there is no p
    recipe: dict[str, Any] = field(default_factory=dict)  # how the vectors were made


def measure(compared: ComparedPeriods, runs: Sequence[WordVectors]) -> Measured:
    """Measure by the route of the settings."""
    settings = compared.settings
    if settings.route == "contextual":
        return _by_states(compared)
    if runs:
        recipe: dict[str, Any] = {"runs": [describe_source(run) for run in runs]}
        return _aligned(compared, spaces_of(runs, compared.words), "a run", recipe)
    made = {"method": settings.method or SVD} | dataclasses.asdict(settings.training)
    if settings.route == "svd-joint":
        return _joint(compared, {"training": made})
    spaces = train_spaces(compared.periods, compared.texts, compared.words, settings)
    return _aligned(compared, spaces, "a period", {"training": made})


def _joint(compared: ComparedPeriods, recipe: dict[str, Any]) -> Measured:
    """Measure in one space."""
    from scipy.stats import false_discovery_control  # slow to import

    settings, texts = compared.settings, compared.texts
    svd, permutations = settings.training, settings.permutations
    space = joint_space(texts, len(compared.words), svd)
    rows = compared.without_vectors(have_vectors(list(space.vectors)), "a period")
    if compared.only:
        rows = rows[np.isin(rows, compared.needed)]
    permutations = PERMUTATIONS if permutations is None else permutations
    fewest = min(len(np.unique(text.documents)) for text in texts)
    steps = _steps(space.vectors[:, rows])
    no_p = None if permutations else "`permutations=0`"
    if not len(rows):
        no_p = "nothing was compared"
    if fewest < _FEWEST:
        no_p = (
            f"a period has {fewest} documents, too few to measure chance, which needs {_FEWEST}; "
            "pass longer periods, or a corpus of more documents"
        )
    if no_p is not None:
        distances = cosine_distances(space.vectors[0, rows], space.vectors[-1, rows])
        columns = {"distances": distances, "steps": steps}
        return Measured(rows, space.vectors, columns, no_p, recipe)
    dealt = dealt_text(
        texts, len(compared.words), thread_count(svd.threads), strata=compared.periods.strata
    )
    found = permuted_distances(
        dealt, space, rows, svd, permutations=permutations, seed=settings.seed
    )
    sizes = compared.counts[:, rows].min(axis=0)
    if compared.only:  # each by its own permutations
        p = np.array([pooled_p(found[n, None], sizes[n, None])[0] for n in range(len(rows))])
    else:
        p = pooled_p(found, sizes)
    columns = {
        "distances": found[:, 0].astype(np.float64), "steps": steps, "p": p,
        "q": false_discovery_control(p) if len(p) else p,  # Benjamini & Hochberg 1995
        "chance": typical(found[:, 1:]),
    }  # fmt: skip
    return Measured(rows, space.vectors, columns, None, recipe)


def _aligned(
    compared: ComparedPeriods,
    spaces: Sequence[np.ndarray],
    what: str,
    recipe: dict[str, Any],
) -> Measured:
    """Measure in aligned spaces, each of ``what``."""
    rows = compared.without_vectors(have_vectors(spaces), what)
    _check_rotation(len(rows), spaces[0].shape[1])
    shared = np.zeros(len(compared.words), bool)
    shared[rows] = True
    vectors = np.stack(list(align(spaces, shared)))
    chosen = vectors[:, rows]
    columns: dict[str, Any] = {
        "distances": cosine_distances(chosen[0], chosen[-1]),
        "steps": _steps(chosen),
    }
    return Measured(rows, vectors, columns, _NO_P if compared.texts else _NO_TEXT, recipe)


def _check_rotation(n_words: int, dim: int) -> None:
    """Raise if a rotation fits any vectors of so few words; note it if it is not determined."""
    few = f"with {n_words} in common, a rotation is not determined"
    if n_words < _FEWEST_ALIGNED:
        raise SettingError(f"{few}; pass vectors or periods that share at least {_FEWEST_ALIGNED}")
    if n_words <= dim:
        note(f"{few} in {dim} dimensions, so distances are too small")


def _by_states(compared: ComparedPeriods) -> Measured:
    """Measure by the states of an encoder."""
    settings = compared.settings
    encoder = open_encoder(str(settings.encoder))
    layers = parse_layers(AUTO, encoder.n_layers)
    rows = _readable(
        compared, np.unique(compared.needed) if compared.only else compared.rows, encoder
    )
    words, periods = compared.names(rows), compared.periods
    found = read_occurrences(periods, words, encoder, layers, settings.occurrences, settings.seed)
    means = prototypes(found, len(words), len(periods.names))
    distances = cosine_distances(means[0], means[-1])
    errors = resampled_errors(found, periods, len(words), _RESAMPLES, settings.seed)
    low, high = (np.clip(distances + z * errors, 0.0, 2.0) for z in (-_NORMAL, _NORMAL))
    columns = {
        "distances": distances, "steps": _steps(means), "low": low, "high": high,
        "pairs": pair_distances(means[0], means[-1]),
    }  # fmt: skip
    return Measured(rows, means, columns, _NO_P)


def _readable(
    compared: ComparedPeriods, rows: np.ndarray, encoder: ContextualEncoder
) -> np.ndarray:
    """Return the rows of the words that the encoder has pieces for."""
    covered = np.zeros(len(compared.words), bool)
    covered[rows] = encoder.covers(compared.names(rows))
    for row in compared.needed:
        if not covered[row]:
            raise UnknownWordError(f"the encoder has no pieces for {compared.words[row]!r}")
    kept = rows[covered[rows]]
    if not len(kept):
        raise SettingError(
            "the encoder knows none of the words that are frequent enough in every period; pass "
            "other `words`, or another `encoder`"
        )
    return kept


def _steps(vectors: np.ndarray) -> np.ndarray:
    """Return distances from each period to the next, float64 (n, K - 1)."""
    # vectors: float32 (K, n, D)
    steps = [cosine_distances(a, b) for a, b in itertools.pairwise(vectors)]
    return np.array(steps, np.float64).T
