"""A space for each period, turned onto the first one by orthogonal Procrustes.

Hamilton, Leskovec & Jurafsky 2016, "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
Change", section 3; the rotation is that of Schoenemann 1966.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from corpora.common.reporting import SilentReporter, progress, reporting_to
from embed.align.mapping import procrustes
from embed.change.periods import PeriodText
from embed.change.permutation import cosine_distances
from embed.svd.train import SvdConfig, text_vectors
from embed.vectors.search import unit_length

_NORMAL = 1.96  # of a 95 % interval


def aligned_spaces(
    texts: Sequence[PeriodText], n_words: int, svd: SvdConfig, shared: np.ndarray
) -> np.ndarray:
    """Train on each period and align all to the first on the shared words."""
    # shared: bool (n_words,); returns float32 (K, n_words, D)
    spaces = [text_vectors(text, svd, n_words, name="a period")[0] for text in texts]
    return np.stack(list(align(spaces, shared)))


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
    texts: Sequence[PeriodText],
    n_words: int,
    svd: SvdConfig,
    shared: np.ndarray,
    *,
    resamples: int,
    seed: int,
) -> np.ndarray:
    """Return the standard error of each word's distance, from documents drawn with replacement.

    The mean over the draws is larger than the distance, as any noise adds to it; so the interval
    is the distance with 1.96 of these errors on either side, not between percentiles.
    """
    # returns float64 (n_words,)
    generator = np.random.default_rng(seed)
    drawn = np.empty((resamples, n_words))
    with progress("resampling", "runs") as show:
        show(0, resamples)
        for number in range(resamples):
            with reporting_to(SilentReporter()):
                parts = [_drawn(text, generator) for text in texts]
                spaces = aligned_spaces(parts, n_words, svd, shared)
            drawn[number] = cosine_distances(spaces[0], spaces[-1])
            show(number + 1, resamples)
    return np.asarray(drawn.std(axis=0, ddof=1))


def _drawn(text: PeriodText, generator: np.random.Generator) -> PeriodText:
    """Draw the documents of a period with replacement."""
    documents = np.unique(text.documents)
    chosen = generator.choice(documents, len(documents))
    return text.drawn(np.bincount(chosen, minlength=int(documents[-1]) + 1))


def interval(distance: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of 95 % intervals of distances, which are between 0 and 2."""
    return np.maximum(distance - _NORMAL * error, 0.0), np.minimum(distance + _NORMAL * error, 2.0)
