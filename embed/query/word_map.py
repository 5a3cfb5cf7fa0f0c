"""Words on a plane: the two principal components of their vectors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import many
from firth.embed.vectors.neighbors import unit_queries
from firth.embed.vectors.opened import VectorSource, opened
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import noun_of

LEAST = 3  # words; any two lie on a line
# Larger than the float32 rounding error between unit vectors of the same direction.
_ROUNDED = 4 * float(np.finfo(np.float32).eps)


class Ellipse(NamedTuple):
    """Where a word would be in 95 % of texts of the same kind, around its place."""

    half_axes: tuple[float, float]  # the longer first
    angle: float  # of the longer to the first component, in degrees from 0 to 180

    @classmethod
    def of(cls, covariance: np.ndarray) -> "Ellipse":
        """Return the ellipse of a normal distribution."""
        # covariance: float64 (2, 2)
        squares = -2 * math.log(0.05) * covariance  # chi-square with two degrees of freedom
        (short, long), axes = np.linalg.eigh(squares)
        halves = math.sqrt(long), math.sqrt(max(short, 0.0))
        return cls(halves, math.degrees(math.atan2(axes[1, 1], axes[0, 1])) % 180)


@dataclass(frozen=True, repr=False)
class WordMap(Table):
    """Coordinates of words on the plane of the first two principal components."""

    words: tuple[str, ...]  # distinct
    # group of each word; None if it has none
    groups: tuple[str | None, ...]
    # float64 (n, 2): coordinates, in the unit of the vectors, whose length is 1
    places: np.ndarray
    # share of the variance explained by each component, 0 to 1
    share: tuple[float, float]
    # of each word, None if it occurs in too few documents; empty unless they were asked for
    ellipses: tuple[Ellipse | None, ...] = ()
    noun: str = "word"  # what output calls each

    def _records(self) -> list[dict[str, Any]]:
        words: list[dict[str, Any]] = self.to_json("")["words"]
        return words

    def to_json(self, run: str) -> dict[str, Any]:
        """Return the object that ``firth map --json`` prints."""
        words: list[dict[str, Any]] = [
            {"word": word, "x": float(x), "y": float(y)}
            | ({} if group is None else {"group": group})
            for word, group, (x, y) in zip(self.words, self.groups, self.places, strict=True)
        ]
        for word, ellipse in zip(words, self.ellipses, strict=False):
            word["ellipse"] = ellipse and ellipse._asdict()
        return {"run": run, "share": list(self.share), "words": words}


def map_words(
    vectors: VectorSource,
    words: Sequence[str],
    groups: Sequence[str | None] | None = None,
    *,
    resamples: int | None = None,
    unit: str | None = None,
    corpora: Sequence[str | Path] = (),
) -> WordMap:
    """Project words onto the plane of their first two principal components.

    The vectors, at unit length, are centered on their mean; the singular value
    decomposition of the centered rows X = U S V' gives the coordinates, the
    first two columns of U S (Pearson 1901; Hotelling 1933). No other plane
    preserves as much of the sum of squared distances. Signs are arbitrary: they are chosen so
    that the word farthest along an axis is on its positive side.

    Parameters
    ----------
    vectors : StaticVectors, str or path
        Dense or sparse; a path is that of a run or of a file of vectors.
    words : sequence of str
        At least :data:`LEAST` words with a vector, composed vectors included.
    groups : sequence of str or None, optional
        Group of each word; for a repeated word the first one counts.
    resamples : int, optional
        With it, each word has an ellipse: where it would be in 95 % of texts of the same kind, on
        the axes of this map. ``vectors`` must be of a run that has intervals.
    unit : {"document", "paragraph", "sentence"}, optional
        As of :func:`firth.neighbor_intervals`.
    corpora : sequence of str or Path
        As of :func:`firth.neighbor_intervals`.

    Returns
    -------
    WordMap
        Words in the given order, each once.

    Raises
    ------
    SettingError
        There are too few distinct words, a vector is zero, all have the same direction, or the
        text cannot be resampled.
    ArtifactError
        The corpus is not found, or has changed.
    UnknownWordError
        A word has no vector; the message suggests close spellings.

    Examples
    --------
    Three unit vectors e1, e2, e3 are the corners of a triangle with sides of length √2, which
    lies in a plane: the two components explain all of the variance.
    """
    words = many(words)
    group_of = dict(zip(reversed(words), reversed(groups or [None] * len(words)), strict=True))
    distinct = list(dict.fromkeys(words))
    static = opened(vectors)
    noun = noun_of(static)
    if len(distinct) < LEAST:
        raise SettingError(f"a map needs at least {LEAST} {noun}s, got {len(distinct)}; pass more")
    units, _ = unit_queries(static, distinct)
    if not isinstance(units, np.ndarray):
        units = units[:, units.getnnz(axis=0) > 0].toarray()  # all other dimensions are zero
    zero = [word for word, unit in zip(distinct, units, strict=True) if not unit.any()]
    if zero:
        raise SettingError(
            f"the vector of {zero[0]!r} is zero and has no direction; remove the {noun}"
        )
    left, singular, right = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    variance = singular**2
    if variance.sum() <= len(distinct) * _ROUNDED**2:
        raise SettingError(f"all {len(distinct)} {noun}s have the same direction; pass others")
    places = np.zeros((len(distinct), 2))
    n_axes = min(2, len(singular))  # one-dimensional vectors have one component
    places[:, :n_axes] = left[:, :n_axes] * singular[:n_axes]
    farthest = np.abs(np.round(places, 12)).argmax(axis=0)  # rounded, so that ties go to the first
    signs = np.where(places[farthest, [0, 1]] < 0, -1.0, 1.0)
    ellipses: list[Ellipse | None] = []
    if resamples is not None:
        from firth.embed.resampling.intervals import covariances  # compiles kernels

        if not isinstance(static, WordVectors):
            raise SettingError("`resamples` needs a run; pass the vectors of one")
        axes = np.zeros((right.shape[1], 2))
        axes[:, :n_axes] = (right[:n_axes] * signs[:n_axes, None]).T
        found = covariances(static, distinct, axes, resamples=resamples, unit=unit, corpora=corpora)
        ellipses = [None if each is None else Ellipse.of(each) for each in found]
    first, second = [*(variance / variance.sum()), 0.0][:2]
    return WordMap(
        words=tuple(distinct),
        groups=tuple(group_of[word] for word in distinct),
        places=places * signs,
        share=(float(first), float(second)),
        ellipses=tuple(ellipses),
        noun=noun,
    )
