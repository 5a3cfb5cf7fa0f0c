"""Logistic regressions of several labels, trained at once by the same matrix products."""

import numpy as np

_ITERATIONS = 300
_PRECISION = 1e-7  # of the loss between iterations


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
