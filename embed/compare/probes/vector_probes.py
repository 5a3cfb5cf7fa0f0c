"""Linear probes on one vector per example: logistic regression for labels, ridge for numbers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from firth.embed.compare.probes.examples import scales
from firth.embed.compare.probes.progress import steps

_COSTS = (0.01, 0.1)  # of errors beside the squared weights of standardized dimensions
_DEV = 10  # every so many training examples one is held out to choose the cost
_ITERATIONS, _PRECISION = 300, 1e-7  # of L-BFGS; the precision is of the loss
_PENALTIES = 10.0 ** np.arange(-3, 3.5, 0.5)  # relative to the mean variance of a dimension


def out_of_fold(
    probe: Callable[..., np.ndarray], rows: np.ndarray, values: np.ndarray, folds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Predict the values of each fold from the others; also return the mean of the others."""
    # rows: float (n, D); values: float64 (n,) or bool (n, L); folds: int64 (n,); returns float64
    predicted, usual = np.zeros((2, *values.shape))
    numbers = np.unique(folds).tolist()
    for fold in steps(numbers) if len(numbers) > 1 else ():
        out = folds == fold
        usual[out] = values[~out].mean(axis=0)
        predicted[out] = probe(rows[~out], values[~out], rows[out])
    return predicted, usual


def ranks_within(folds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Replace scores by their ranks within folds, since the means of folds differ; from 0 to 1."""
    # folds: int64 (n,); scores: float64 (n, L)
    from scipy.stats import rankdata

    ranks = np.empty(scores.shape)
    for fold in np.unique(folds):
        out = folds == fold
        ranks[out] = rankdata(scores[out], axis=0) / (1 + out.sum())
    return ranks


def label_scores(rows: np.ndarray, labels: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return how likely new rows have each label: one of them, or each, if rows have several."""
    # rows: float64 (n, D); labels: bool (n, L); new: float64 (m, D); returns float64 (m, L)
    center = rows.mean(axis=0)
    scale = scales(((rows - center) ** 2).mean(axis=0))
    rows, new, n_right = (rows - center) / scale, (new - center) / scale, []
    dev = np.arange(len(rows)) % _DEV == 0
    for cost in _COSTS if len(rows) > 1 else ():
        found = _logistic(rows[~dev], labels[~dev], rows[dev], cost)
        n_right.append((likeliest(found, labels[dev].sum(axis=1)) & labels[dev]).sum())
    return _logistic(rows, labels, new, _COSTS[int(np.argmax(n_right or [1]))])


def likeliest(scores: np.ndarray, n_labels: np.ndarray) -> np.ndarray:
    """Return so many labels of each row as have the highest scores."""
    # scores: float64 (n, L); n_labels: int64 (n,); returns bool (n, L)
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return np.asarray(ranks < n_labels[:, None])


def _logistic(rows: np.ndarray, labels: np.ndarray, new: np.ndarray, cost: float) -> np.ndarray:
    """Train logistic regression, multinomial or one for each label; return probabilities."""
    if (labels.sum(axis=1) > 1).any():
        return label_chances(rows, labels, new, cost)
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((len(new), labels.shape[1]))
    classes = labels.argmax(axis=1)
    if len(np.unique(classes)) < 2:  # nothing to tell apart
        return found + labels[:1]
    model = LogisticRegression(C=cost, max_iter=_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # precise enough
        model.fit(rows, classes)
    found[:, model.classes_] = model.predict_proba(new)
    return found


def ridge(rows: np.ndarray, values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict the values of new rows (Hoerl and Kennard 1970).

    One eigendecomposition gives the errors with every penalty (Golub, Heath and Wahba 1979).
    """
    # rows: float64 (n, D); values: float64 (n,); new: float64 (m, D)
    center, mean = rows.mean(axis=0), values.mean()
    centered, residuals = rows - center, values - mean
    squares, axes = np.linalg.eigh(centered.T @ centered)
    squares = np.maximum(squares, 0.0)
    turned = centered @ axes
    products = turned.T @ residuals
    tried = []
    for penalty in _PENALTIES * (squares.mean() or 1.0):
        shrunk = 1 / (squares + penalty)
        leverage = 1 / len(rows) + turned**2 @ shrunk
        errors = (residuals - turned @ (shrunk * products)) / (1 - leverage)
        tried.append(((errors**2).mean(), axes @ (shrunk * products)))
    weights = min(tried, key=lambda each: each[0])[1]
    return np.asarray(mean + (new - center) @ weights)


def dense(units: Any, most: int | None = None) -> np.ndarray:
    """Return rows; of sparse ones at most ``most`` columns, and only those of several rows."""
    if isinstance(units, np.ndarray):
        return units
    n_rows = np.bincount(units.indices, minlength=units.shape[1])
    columns = np.argsort(-n_rows, kind="stable")[: min(most or len(n_rows), (n_rows > 1).sum())]
    return np.asarray(
        units[:, np.sort(columns)].toarray() if len(columns) else np.zeros((units.shape[0], 1))
    )


def label_chances(rows: np.ndarray, labels: np.ndarray, new: np.ndarray, cost: float) -> np.ndarray:
    """Return how likely new rows have each label, by L-BFGS from zero in float32.

    As scikit-learn's, half the squared weights and ``cost`` times the errors are least.
    """
    # rows: float (n, D); labels: bool (n, L); new: float (m, D); returns float64 (m, L)
    from scipy.optimize import minimize

    inputs = np.column_stack([rows, np.ones(len(rows))]).astype(np.float32)
    transposed = np.ascontiguousarray(inputs.T)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(inputs.shape[1], -1)
        chances = _sigmoid(inputs @ weights.astype(np.float32))
        right = np.where(labels, chances, 1 - chances)
        errors = -np.log(np.maximum(right, np.finfo(np.float32).tiny)).sum(dtype=np.float64)
        gradient = cost * (transposed @ (chances - labels)).astype(np.float64)
        gradient[:-1] += weights[:-1]
        return float((weights[:-1] ** 2).sum() / 2 + cost * errors), gradient.ravel()

    zero = np.zeros(inputs.shape[1] * labels.shape[1])
    found = minimize(
        loss, zero, jac=True, method="L-BFGS-B",
        options={"maxiter": _ITERATIONS, "ftol": _PRECISION},
    )  # fmt: skip
    weights = found.x.reshape(inputs.shape[1], -1)
    return _sigmoid(new @ weights[:-1] + weights[-1])


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return probabilities of log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-logits)))
