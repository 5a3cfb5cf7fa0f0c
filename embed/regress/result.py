"""The results of a regression."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.store.concordance import Line


@dataclass(frozen=True)
class Coefficient:
    """What one covariate adds to the vectors of a word."""

    name: str  # ``field=level``, the field of a number, or a product of both
    squared: float  # its squared length, which chance makes longer
    clusters: int  # such as documents, of the level or of the reference level if these are fewer
    debiased: float | None = None  # less the variances of its dimensions; chance may make it < 0
    error: float | None = None  # of ``debiased``, by the jackknife
    low: float | None = None  # the 95 % interval of ``debiased``
    high: float | None = None
    p: float | None = None  # share of permuted covariates that are as long beside their variance
    reason: str | None = None  # why only the length is known


@dataclass(frozen=True)
class WordCosine:
    """The cosine of a word with the vector of a group, and its 95 % interval less noise."""

    word: str
    cosine: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GroupMeaning:
    """What the word means in one group, with other fields at their means."""

    field: str
    name: str  # a level, or the 10 % or 90 % quantile of a number, or its ends if these are equal
    occurrences: int  # up to, or from, the quantile
    nearest: list[WordCosine]  # of the words that stand around the word
    words: list[WordCosine]  # that were asked for
    lines: list[Line]  # occurrences of the group whose vectors are nearest to its own


@dataclass(frozen=True)
class CosineRatio:
    """The cosine of a word with one group by that with another."""

    word: str
    field: str
    group: str
    reference: str
    ratio: float
    low: float  # its 95 % interval
    high: float
    p: float  # share of permuted covariates with a ratio as far from 1


@dataclass(frozen=True, repr=False)
class Regression(Table):
    """The regression of a word, a phrase, a pattern or a topic of several.

    Attributes
    ----------
    topic : str
        The word.
    by : str
        Fields, as they were passed.
    source : str
        What made the vectors of occurrences.
    window : int
        Words on each side of an occurrence.
    occurrences, documents, clusters : int
        Of the regression.
    cluster : str
        What varies by chance.
    reference : list of str
        Levels that others are compared with.
    coefficients : list of Coefficient
        In order of the fields.
    groups : list of GroupMeaning
        Of each field.
    ratios : list of CosineRatio
        Of the nearest and asked words, by group; those of cosines above
        0, and of groups that are not small.
    transform : dict or None
        Where the matrix is from, from how many words, and its mean cosine in words left out; None
        of states.
    vectors : float64 (k, D)
        The intercept and the coefficients.
    """

    topic: str
    by: str
    source: str
    window: int
    occurrences: int
    documents: int
    clusters: int
    cluster: str
    reference: list[str]
    coefficients: list[Coefficient]
    groups: list[GroupMeaning]
    ratios: list[CosineRatio]
    transform: dict[str, Any] | None
    vectors: np.ndarray
    _listed = ("coefficients",)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data, without the vectors."""
        fields = asdict(self)
        del fields["vectors"]
        return fields
