"""LRCos: the answer is similar to the word, and belongs to the class of such answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.tasks.analogy.offsets import mark, products
from firth.embed.protocols import StaticVectors

_BLOCK = 4096  # candidates whose cosines with all words are held at once
_SEED = 20160  # of the random words among the examples
_STEPS = 50  # at most, for all regressions of a section
_SLOPE = 1e-8  # tolerated gradient of a sum over some 100 examples
_RANK = 1e-9  # relative eigenvalues of a Gram matrix below this are rounding noise


@dataclass(frozen=True)
class _Section:
    """The lines of one section, and the examples that its classifiers are trained on."""

    lines: np.ndarray  # int64 (n,): line numbers
    rows: np.ndarray  # int64 (E,): rows of the examples
    labels: np.ndarray  # bool (E,): whether an example is an answer
    owners: np.ndarray  # int64 (E,): the line of an example; -1 for a random word


@dataclass(frozen=True)
class _Classifiers:
    """For each line of a section, a classifier of answers trained on the other lines."""

    lines: np.ndarray  # int64 (n,): line numbers
    words: np.ndarray  # int64 (m,): the examples, as positions among all words used
    weights: np.ndarray  # float32 (n, m): log-odds per unit of cosine with each example
    intercepts: np.ndarray  # float32 (n,): log-odds of a candidate orthogonal to all examples


def correct_by_lrcos(
    vectors: StaticVectors,
    words: np.ndarray,
    answers: Sequence[np.ndarray],
    sections: Sequence[str],
    restrict: int,
    composed: Any = None,
) -> np.ndarray:
    """Return which lines LRCos answers correctly.

    Drozd, Gladkova & Matsuoka 2016, "Word Embeddings, Analogies, and Machine Learning": the answer
    to a word maximizes P(d is an answer) cos(d, word). P is a logistic regression on the other
    lines of the section, with balanced classes and scikit-learn's default regularization; the
    cosines with its examples are all it needs. In a section of one line, the nearest word is the
    answer.
    """
    # words: int64 (L,); answers: rows int64 (A,) per line; composed: float32 (n, D), dense or CSR;
    # returns bool (L,)
    candidates = min(restrict, len(vectors.vocabulary))
    names = np.array(sections, dtype=object)
    parts = [
        _examples(np.flatnonzero(names == name), words, answers, candidates, number)
        for number, name in enumerate(dict.fromkeys(sections))
    ]
    rows = np.unique(np.concatenate([words, *(part.rows for part in parts)]))
    units = finite_units(vectors, rows, composed)
    classifiers = [_train(part, units, np.searchsorted(rows, part.rows)) for part in parts]
    queries, places = units.astype(np.float32), np.searchsorted(rows, words)
    marks, offsets, are_answers = mark(words[:, None], answers)
    owners = np.repeat(np.arange(len(words)), np.diff(offsets))
    correct, other = np.full((2, len(words)), -np.inf, dtype=np.float32)
    held = np.empty((len(rows), min(_BLOCK, candidates)), dtype=np.float32)
    for start in range(0, candidates, _BLOCK):
        some = np.arange(start, min(start + _BLOCK, candidates))
        cosines = products(
            queries, finite_units(vectors, some).astype(np.float32), held[:, : len(some)]
        )
        scores = cosines[places]
        for trained in classifiers:
            log_odds = trained.weights @ cosines[trained.words]
            log_odds += trained.intercepts[:, None]
            scores[trained.lines] *= 1 / (1 + np.exp(-log_odds))
        inside = (marks >= start) & (marks < start + len(some))
        marked = owners[inside], marks[inside] - start
        np.maximum.at(correct, marked[0], np.where(are_answers[inside], scores[marked], -np.inf))
        scores[marked] = -np.inf
        other = np.maximum(other, scores.max(axis=1))
    return np.asarray(correct > other)


def _examples(
    lines: np.ndarray, words: np.ndarray, answers: Sequence[np.ndarray], candidates: int, seed: int
) -> _Section:
    """Return one section with its examples: an answer per line, the words, and random words."""
    answered = np.array([line for line in lines if len(answers[line])], dtype=np.int64)
    drawn = np.random.default_rng([_SEED, seed]).permutation(candidates)
    taken = np.concatenate([words[lines], *(answers[line] for line in lines)])
    random = drawn[~np.isin(drawn, taken)][: len(lines)]
    firsts = np.array([answers[line][0] for line in answered], dtype=np.int64)
    return _Section(
        lines=lines,
        rows=np.concatenate([firsts, words[lines], random]),
        labels=np.arange(len(answered) + len(lines) + len(random)) < len(answered),
        owners=np.concatenate([answered, lines, np.full(len(random), -1)]),
    )


def _train(part: _Section, units: Any, places: np.ndarray) -> _Classifiers:
    """Train a classifier for each line on the examples of the others."""
    words, example = np.unique(places, return_inverse=True)
    features, basis = _coordinates(units[words])
    slopes, intercepts = _fit_each(
        features[example], part.labels, part.owners[:, None] != part.lines
    )
    return _Classifiers(
        part.lines, words, (slopes @ basis.T).astype(np.float32), intercepts.astype(np.float32)
    )


def _fit_each(
    features: np.ndarray, labels: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes (n, r) and intercepts (n,) of n regressions, each on the examples it uses.

    By Newton steps with one Hessian on all examples; what does not converge is fitted alone.
    """
    # features: float64 (E, r); labels: bool (E,); used: bool (E, n)
    inputs = np.column_stack([features, np.ones(len(features))])
    decays = np.append(np.ones(features.shape[1]), 0.0)
    weights = _balanced(np.column_stack([np.ones(len(labels), dtype=bool), used]), labels)
    found = np.zeros((inputs.shape[1], weights.shape[1]))
    steep, fitted = np.zeros(weights.shape[1], dtype=bool), weights.any(axis=0)
    for _ in range(_STEPS if labels.any() and not labels.all() else 0):
        with np.errstate(over="ignore"):
            chances = 1 / (1 + np.exp(-(inputs @ found)))
        slope = inputs.T @ (weights * (chances - labels[:, None])) + decays[:, None] * found
        steep = fitted & ~(np.abs(slope).max(axis=0) <= _SLOPE)  # also where it is NaN
        curvature = (weights * chances * (1 - chances))[:, 0]
        if not steep.any() or not curvature.sum() > 0:  # all converged, or the Hessian is singular
            break
        hessian = (inputs.T * curvature) @ inputs + np.diag(decays)
        found -= np.linalg.solve(hessian, slope)
    found[:, ~fitted] = 0
    for place in np.flatnonzero(steep[1:]):
        some = used[:, place]
        found[:-1, 1 + place], found[-1, 1 + place] = _fit(features[some], labels[some])
    return found[:-1, 1:].T, found[-1, 1:]


def _balanced(used: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return weights that give both classes of a column the same sum; zero for one class."""
    # used: bool (E, n); labels: bool (E,); returns float64 (E, n)
    classes = [used & labels[:, None], used & ~labels[:, None]]
    sizes = [members.sum(axis=0) for members in classes]
    half = sum(sizes) / 2 * (np.minimum(*sizes) > 0)
    return np.asarray(
        sum(c * (half / np.maximum(n, 1)) for c, n in zip(classes, sizes, strict=True))
    )


def _coordinates(units: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates (m, r) with the same inner products, and the map to weights (m, r)."""
    gram = units @ units.T
    gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
    values, directions = np.linalg.eigh(gram)
    kept = values > _RANK * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    return directions[:, kept] * roots, directions[:, kept] / roots


def _fit(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Return slopes and intercept of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(class_weight="balanced", tol=1e-6, max_iter=1000)
    model.fit(features, labels)
    return model.coef_[0], float(model.intercept_[0])
