"""A space for each period, turned onto the first one by orthogonal Procrustes.

Hamilton, Leskovec & Jurafsky 2016, "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
Change", section 3; the rotation is that of Schoenemann 1966.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import SilentReporter, note, progress, reporting_to
from firth.embed.align.mapping import procrustes
from firth.embed.change.permutation import cosine_distances
from firth.embed.change.spaces import Training
from firth.embed.vectors.search import unit_length

_NORMAL = 1.96  # of a 95 % interval


def aligned(spaces: Sequence[np.ndarray], shared: np.ndarray) -> np.ndarray:
    """Return all spaces, aligned to the first by the shared words that all have."""
    # spaces: float32 (n_words, D) each; shared: bool (n_words,); returns float32 (K, n_words, D)
    return np.stack(list(align(spaces, shared & have_vectors(spaces))))


def have_vectors(spaces: Sequence[np.ndarray]) -> np.ndarray:
    """Return which words have a vector in every space, bool (n_words,)."""
    return np.logical_and.reduce([space.any(axis=1) for space in spaces])


def align(spaces: Sequence[np.ndarray], shared: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the first space and the others, rotated onto it.

    Vectors are scaled to unit length, centered on the mean of the shared words, and scaled again.
    """
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


def bootstrap_errors(
    training: Training, shared: np.ndarray, *, resamples: int, seed: int
) -> np.ndarray:
    """Return the standard error of each word's distance, from documents drawn with replacement.

    The mean over the draws is larger than the distance, as any noise adds to it; so the interval
    is the distance with 1.96 of these errors on either side, not between percentiles. A word
    without a vector in a draw is left out of it; NaN if fewer than two are left.
    """
    # shared: bool (n_words,); returns float64 (n_words,)
    generator = np.random.default_rng(seed)
    documents = {}  # of the periods that are compared
    for period in (0, len(training.texts) - 1):
        documents[period] = np.unique(training.texts[period].documents)
        if len(documents[period]) < 2:
            raise SettingError(
                f"`resamples` draws documents, but {training.periods.names[period]} has only one; "
                "leave it out"
            )
    drawn = np.full((resamples, len(training.words)), np.nan)
    with progress("resampling", "runs") as show:
        show(0, resamples)
        for number in range(resamples):
            with reporting_to(SilentReporter()):
                spaces = [
                    training.space(period, _draw(own, training, generator))
                    for period, own in documents.items()
                ]
            first, last = aligned(spaces, shared)
            there = have_vectors([first, last])
            drawn[number, there] = cosine_distances(first[there], last[there])
            show(number + 1, resamples)
    n_draws = np.isfinite(drawn).sum(axis=0)
    if missed := int((n_draws < resamples)[shared].sum()):
        note(
            f"{missed:,} of {int(shared.sum()):,} words are missing in a draw of the documents and "
            "left out of it"
        )
    errors = np.full(len(training.words), np.nan)
    errors[n_draws > 1] = np.nanstd(drawn[:, n_draws > 1], axis=0, ddof=1)
    return errors


def _draw(documents: np.ndarray, training: Training, generator: np.random.Generator) -> np.ndarray:
    """Draw documents with replacement; return how often each document of all is drawn."""
    chosen = generator.choice(documents, len(documents))
    return np.bincount(chosen, minlength=len(training.periods.period_of))


def interval(distance: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of 95 % intervals of distances, which are between 0 and 2."""
    return np.maximum(distance - _NORMAL * error, 0.0), np.minimum(distance + _NORMAL * error, 2.0)
