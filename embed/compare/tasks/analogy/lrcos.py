"""LRCos: the answer is near to the word, and of the class to which such answers belong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embed.compare.inputs.lookup import finite_units
from embed.compare.tasks.analogy.best_answers import BestAnswers
from embed.compare.tasks.analogy.offsets import BLOCK, products, single
from embed.protocols import StaticVectors

_SEED = 20160  # of the random words among the examples
_RANK = 1e-9  # of a Gram matrix: what is below is rounding


@dataclass(frozen=True)
class _Section:
    """The lines of one section and what classes of answers are learnt from."""

    lines: np.ndarray  # int64 (n,): which lines
    rows: np.ndarray  # int64 (E,): the examples' rows
    labels: np.ndarray  # bool (E,): whether an example is an answer
    owners: np.ndarray  # int64 (E,): the line of an example; -1 for a random word


@dataclass(frozen=True)
class _Classes:
    """A class of answers for each line of a section, learnt from the other lines."""

    lines: np.ndarray  # int64 (n,): which lines
    words: np.ndarray  # int64 (m,): the examples, among all words that take part
    # float32 (n, m): what a candidate's cosine with each example adds to its log-odds
    weights: np.ndarray
    # float32 (n,): log-odds of a candidate at a right angle to all examples
    intercepts: np.ndarray


def correct_by_lrcos(
    vectors: StaticVectors,
    words: np.ndarray,
    answers: Sequence[np.ndarray],
    sections: Sequence[str],
    restrict: int,
    *,
    exclude: bool = True,
    composed: Any = None,
    block: int = BLOCK,
) -> np.ndarray:
    """Tell which lines of relations LRCos answers rightly.

    Drozd, Gladkova & Matsuoka 2016, "Word Embeddings, Analogies, and Machine
    Learning: Beyond King - Man + Woman = Queen": the answer to a word maximises
    P(d is an answer) cos(d, word). P is by logistic regression, learnt from all
    other lines of the section: their first known answers against their words
    and as many random words, vectors of length 1, both classes weighed alike,
    regularised by scikit-learn's default. A section of one line has nothing to
    learn from: there the nearest word is the answer.

    A linear classifier of vectors is a weighted sum of their products with the
    examples, so cosines with the examples are all that is needed.
    """
    # words: int64 (L,); answers: sequence of int64 (A,); composed: float32 (n, D) or scipy.sparse
    # CSR (n, D); returns bool (L,)
    candidates = min(restrict, len(vectors.vocabulary))
    parts = _parts(words, answers, sections, candidates)
    rows = np.unique(np.concatenate([words, *(part.rows for part in parts)]))
    units = finite_units(vectors, rows, composed)
    classes = [_learn(part, units, np.searchsorted(rows, part.rows)) for part in parts]
    queries, places = single(units), np.searchsorted(rows, words)
    contest = BestAnswers(answers, words[:, None] if exclude else words[:, None][:, :0])
    for start in range(0, candidates, block):
        some = np.arange(start, min(start + block, candidates))
        cosines = products(queries, single(finite_units(vectors, some)))
        for learnt in classes:
            spots = contest.locate(learnt.lines, start, len(some))
            scores = _odds(learnt, cosines) * cosines[places[learnt.lines]]
            contest.enter(0, learnt.lines, scores, spots)
    return contest.won()[0]


def _parts(
    words: np.ndarray, answers: Sequence[np.ndarray], sections: Sequence[str], candidates: int
) -> list[_Section]:
    """The sections, each with its examples."""
    names = np.array(sections, dtype=object)
    return [
        _examples(np.flatnonzero(names == name), words, answers, candidates, number)
        for number, name in enumerate(dict.fromkeys(sections))
    ]


def _examples(
    lines: np.ndarray, words: np.ndarray, answers: Sequence[np.ndarray], candidates: int, seed: int
) -> _Section:
    """What there is to learn in one section: an answer of each line, its word, random words."""
    right = np.array([line for line in lines if len(answers[line])], dtype=np.int64)
    drawn = np.random.default_rng([_SEED, seed]).permutation(candidates)
    taken = np.concatenate([words[lines], *(answers[line] for line in lines)])
    random = drawn[~np.isin(drawn, taken)][: len(lines)]
    firsts = np.array([answers[line][0] for line in right], dtype=np.int64)
    return _Section(
        lines=lines,
        rows=np.concatenate([firsts, words[lines], random]),
        labels=np.arange(len(right) + len(lines) + len(random)) < len(right),
        owners=np.concatenate([right, lines, np.full(len(random), -1)]),
    )


def _learn(part: _Section, units: Any, places: np.ndarray) -> _Classes:
    """A class for each line, from the examples of the others."""
    words, example = np.unique(places, return_inverse=True)
    features, basis = _coordinates(units[words])
    weights = np.zeros((len(part.lines), len(words)), dtype=np.float32)
    intercepts = np.zeros(len(part.lines), dtype=np.float32)
    for place, line in enumerate(part.lines):
        others = part.owners != line
        labels = part.labels[others]
        if labels.any() and not labels.all():
            slopes, intercepts[place] = _fit(features[example[others]], labels)
            weights[place] = basis @ slopes
    return _Classes(part.lines, words, weights, intercepts)


def _coordinates(units: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (m, r) with the units' inner products; what turns slopes into weights (m, r)."""
    gram = units @ units.T
    gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
    values, directions = np.linalg.eigh(gram)
    kept = values > _RANK * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    return directions[:, kept] * roots, directions[:, kept] / roots


def _fit(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Slopes and intercept of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(class_weight="balanced", tol=1e-6, max_iter=1000)
    model.fit(features, labels)
    return model.coef_[0], float(model.intercept_[0])


def _odds(learnt: _Classes, cosines: np.ndarray) -> np.ndarray:
    """The probability of each candidate to be an answer, float32 (n, R + 1)."""
    odds = learnt.weights @ cosines[learnt.words]
    odds += learnt.intercepts[:, None]
    return 1 / (1 + np.exp(-odds))
